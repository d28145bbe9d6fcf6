//! The terminal taken and given back: raw mode, alternate screen and the other modes, undone on
//! every way out, a panic included.
//!
//! Keyboard enhancement is pushed without asking first, because the answer of a terminal that does
//! not know the question never comes.

use std::io::{self, BufWriter, Stdout, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste,
    EnableFocusChange, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, SetTitle, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;

use crate::text::sanitize::one_line;

/// xterm's modifyOtherKeys, for terminals and multiplexers without the kitty protocol.
const MORE_KEYS: &str = "\x1b[>4;2m";
const FEWER_KEYS: &str = "\x1b[>4;0m";
/// Clicks and the wheel in SGR form; no motion, whose flood of reports nobody needs.
const CLICKS: &str = "\x1b[?1000h\x1b[?1006h";
/// Longer titles are cut by terminals anyway.
const TITLE_COLUMNS: usize = 80;
/// The clipboard sequence carries the text in base64; terminals drop much longer ones.
pub(crate) const COPY_BYTES: usize = 75_000;

/// A full frame of a large terminal fits.
const FRAME_BYTES: usize = 128 * 1024;

/// Whether the terminal is ours right now. Static, because the panic hook must know.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// Panics of other threads, told at the end.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());
const PANICS_MAX: usize = 8;

/// The terminal while it is ours. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Screen {
    terminal: ratatui::Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    mouse: bool,
}

impl Screen {
    /// Takes the terminal and sees to it that a panic gives it back before it prints.
    ///
    /// # Errors
    /// When standard output is no terminal or the terminal is gone.
    pub(crate) fn take(mouse: bool) -> io::Result<Self> {
        hook();
        enter(mouse)?;
        // One write a frame.
        let out = BufWriter::with_capacity(FRAME_BYTES, io::stdout());
        match ratatui::Terminal::new(CrosstermBackend::new(out)) {
            Ok(terminal) => Ok(Self { terminal, mouse }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Draws one frame as one update of the terminal.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub(crate) fn draw(&mut self, paint: impl FnOnce(&mut ratatui::Frame<'_>)) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        self.terminal.draw(paint)?;
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)
    }

    /// Columns and rows.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub(crate) fn size(&self) -> io::Result<(u16, u16)> {
        crossterm::terminal::size()
    }

    /// Gives the terminal back for a while.
    pub(crate) fn lend(&self) {
        give_back();
    }

    /// Takes it again; the next frame paints everything.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub(crate) fn retake(&mut self) -> io::Result<()> {
        give_back();
        enter(self.mouse)?;
        self.anew()
    }

    /// The next frame paints everything.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub(crate) fn anew(&mut self) -> io::Result<()> {
        // `clear` would ask the terminal where the cursor is and wait for an answer.
        let (columns, rows) = self.size()?;
        self.terminal.resize(Rect::new(0, 0, columns, rows))
    }

    /// Sets the window's title.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub(crate) fn title(&mut self, title: &str) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), SetTitle(one_line(title, TITLE_COLUMNS)))
    }

    /// Hands text to the terminal's clipboard. Nobody can know whether it took it.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub(crate) fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), CopyToClipboard::to_clipboard_from(text))
    }

    /// Rings.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub(crate) fn bell(&mut self) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), Print("\x07"))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
        let panics = PANICS.lock().map(|mut panics| std::mem::take(&mut *panics));
        for panic in panics.unwrap_or_default() {
            let _ = writeln!(io::stderr(), "{panic}");
        }
    }
}

/// A panic of this thread ends the program: give the terminal back, then print. A panic elsewhere may
/// not; it must not print over the picture and is told when the terminal is given back.
fn hook() {
    let ours = std::thread::current().id();
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == ours || !TAKEN.load(Ordering::SeqCst) {
            give_back();
            previous(info);
        } else if let Ok(mut panics) = PANICS.lock()
            && panics.len() < PANICS_MAX
        {
            panics.push(info.to_string());
        }
    }));
}

fn enter(mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    let result = modes_on(mouse);
    if result.is_err() {
        give_back();
    }
    result
}

fn modes_on(mouse: bool) -> io::Result<()> {
    let mut out = io::stdout();
    let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES
        | KeyboardEnhancementFlags::REPORT_ALTERNATE_KEYS;
    queue!(
        out,
        EnterAlternateScreen,
        // A terminal that was left in it, or has none, still shows what was there.
        Clear(ClearType::All),
        EnableBracketedPaste,
        EnableFocusChange,
        Print(MORE_KEYS),
        PushKeyboardEnhancementFlags(flags),
    )?;
    if mouse {
        queue!(out, Print(CLICKS))?;
    }
    out.flush()
}

/// Gives the terminal back, once. Errors are left alone: a dead terminal needs nothing.
pub(crate) fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    let _ = queue!(
        out,
        EndSynchronizedUpdate,
        DisableMouseCapture,
        PopKeyboardEnhancementFlags,
        Print(FEWER_KEYS),
        DisableFocusChange,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show,
    );
    let _ = out.flush();
    let _ = disable_raw_mode();
}
