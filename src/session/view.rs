//! stub
pub fn request_view(_: &super::Context) -> Vec<std::sync::Arc<crate::message::Message>> {
    Vec::new()
}
