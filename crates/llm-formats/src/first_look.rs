//! What a file or a folder is, by its first bytes and its names: for code that does not read it, so
//! that a refusal can say what was given.

use crate::files::UTF8_MARK;
use llm_core::base::Message;
use llm_core::checkpoint::looks_like_checkpoint;
use llm_core::message;
use std::fmt;
use std::fs;
use std::io::Read;
use std::path::Path;

/// A format, as far as it is known by sight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Look {
    /// A checkpoint of these programs.
    Checkpoint,
    /// A run's folder.
    Run,
    /// A folder with this number of checkpoints of these programs, and none that is the last.
    Checkpoints(usize),
    /// A file of llama.cpp.
    Gguf,
    /// One file of several that together are a GGUF: its number, and how many there are.
    GgufPart(u32, u32),
    /// Tensors by name.
    Safetensors,
    /// A folder with config.json and weights.
    HuggingFace,
    /// A folder of PEFT, with an adapter for a model.
    Adapter,
    /// A file of `torch.save`.
    PyTorch,
    /// A tokenizer of SentencePiece.
    SentencePiece,
    /// The text that git-lfs leaves in the place of a file that it has not fetched.
    Pointer,
    /// HTML.
    WebPage,
    /// A program in Python.
    Python,
    /// JSON.
    Json,
    /// A NumPy array.
    NumPy,
    /// Several files in one.
    Zip,
    /// A format that nothing here reads.
    Foreign(&'static Foreign),
}

/// A format that nothing here reads.
#[derive(Debug, PartialEq)]
pub struct Foreign {
    name: Message,
    /// The command that makes text of a file.
    converter: Converter,
    /// The place in a file of the bytes by which it is known.
    place: usize,
    starts: Starts,
}

type Converter = Option<&'static str>;
/// Bytes at a place, any of which tell a format: no text has them there.
type Starts = &'static [&'static [u8]];

/// Bytes from the beginning of a file that are inspected.
const START: u64 = 512;

/// Formats that code asks for, by their marks.
const KNOWN: [(&[u8], Look); 8] = [
    (b"\x89LLMC\r\n\x1a", Look::Checkpoint),
    (b"\x93NUMPY", Look::NumPy),
    (b"version https://git-lfs.github.com/spec/", Look::Pointer),
    (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", Look::PyTorch),
    (b"PK\x03\x04", Look::Zip),
    (b"PK\x05\x06", Look::Zip),
    (b"\x0a\x0e\x0a\x05<unk>\x15", Look::SentencePiece),
    (b"\x0a\x0e\x0a\x05<pad>\x15", Look::SentencePiece),
];

const PANDOC: Converter = Some("pandoc -t plain FILE -o text.txt");
const PDF_TO_TEXT: Converter = Some("pdftotext -nopgbrk FILE - > text.txt");
const ANTIWORD: Converter = Some("antiword -m UTF-8.txt FILE > text.txt");

const fn foreign(name: Message, converter: Converter, place: usize, starts: Starts) -> Foreign {
    Foreign { name, converter, place, starts }
}

const PICTURE: Message = message!("a picture");
const SOUND: Message = message!("sound");
const FILM: Message = message!("a film");
const PROGRAMS: Starts = &[b"\x7fELF", b"\xCF\xFA\xED\xFE", b"\xCA\xFE\xBA\xBE", b"MZ\x90\0"];
const PICKLES: Starts = &[b"\x80\x02}", b"\x80\x03}", b"\x80\x04\x95", b"\x80\x05\x95"];
const OLD_OFFICE: Starts = &[b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"];

/// The other formats; the first that fits counts.
static FOREIGN: [Foreign; 28] = [
    foreign(message!("a pickle of Python"), None, 0, PICKLES),
    foreign(message!("a 7-Zip archive"), None, 0, &[b"7z\xBC\xAF\x27\x1C"]),
    foreign(message!("a RAR archive"), None, 0, &[b"Rar!\x1A\x07"]),
    foreign(message!("a tar archive"), None, 257, &[b"ustar"]),
    foreign(message!("compressed with xz"), None, 0, &[b"\xFD7zXZ\0"]),
    foreign(message!("compressed with zstd"), None, 0, &[b"\x28\xB5\x2F\xFD"]),
    foreign(message!("compressed with lz4"), None, 0, &[b"\x04\x22\x4D\x18"]),
    foreign(message!("compressed with bzip2"), None, 0, &[b"BZh91AY&SY"]),
    foreign(message!("a PDF"), PDF_TO_TEXT, 0, &[b"%PDF-"]),
    foreign(message!("a document of RTF"), PANDOC, 0, &[b"{\\rtf1"]),
    foreign(message!("a file of an older Office"), ANTIWORD, 0, OLD_OFFICE),
    foreign(PICTURE, None, 0, &[b"\x89PNG\r\n\x1a\n", b"\xFF\xD8\xFF", b"GIF87a", b"GIF89a"]),
    foreign(PICTURE, None, 0, &[b"II*\0", b"MM\0*"]),
    foreign(PICTURE, None, 8, &[b"WEBPVP8"]),
    foreign(SOUND, None, 0, &[b"ID3\x02", b"ID3\x03", b"ID3\x04", b"OggS\0", b"fLaC\0"]),
    foreign(SOUND, None, 8, &[b"WAVEfmt "]),
    foreign(SOUND, None, 4, &[b"ftypM4A"]),
    foreign(FILM, None, 0, &[b"\x1A\x45\xDF\xA3"]),
    foreign(FILM, None, 4, &[b"ftyp"]),
    foreign(FILM, None, 8, &[b"AVI LIST"]),
    foreign(message!("a program"), None, 0, PROGRAMS),
    foreign(message!("a WebAssembly module"), None, 0, &[b"\0asm"]),
    foreign(message!("a font"), None, 0, &[b"wOF2\0", b"OTTO\0"]),
    foreign(message!("a Parquet table"), None, 0, &[b"PAR1\x15"]),
    foreign(message!("an Arrow table"), None, 0, &[b"ARROW1\0\0"]),
    foreign(message!("an HDF5 file"), None, 0, &[b"\x89HDF\r\n\x1a\n"]),
    foreign(message!("a SQLite data base"), None, 0, &[b"SQLite format 3\0"]),
    foreign(Message::new("UTF-32", Vec::new()), None, 0, &[b"\xFF\xFE\0\0", b"\0\0\xFE\xFF"]),
];

/// Archives of zip that are documents, by a name that stands in them.
static DOCUMENTS: [(&[u8], Foreign); 3] = [
    (b"word/document.xml", document(message!("a document of Word"))),
    (b"application/epub+zip", document(message!("a book (EPUB)"))),
    (b"application/vnd.oasis.opendocument.", document(message!("a document of OpenDocument"))),
];

const fn document(name: Message) -> Foreign {
    foreign(name, PANDOC, 0, &[])
}

impl Look {
    /// The format in words.
    pub fn message(self) -> Message {
        match self {
            Look::Checkpoint => message!("a checkpoint of this program"),
            Look::Run => message!("the folder of a run"),
            Look::Checkpoints(n) => message!("a folder with {} checkpoints", n),
            Look::Gguf => message!("a GGUF file"),
            Look::GgufPart(n, of) => message!("part {} of {} of a GGUF file", n, of),
            Look::Safetensors => message!("a safetensors file"),
            Look::HuggingFace => message!("a folder of Hugging Face"),
            Look::Adapter => message!("a folder of PEFT, an adapter without its model"),
            Look::PyTorch => message!("a file of PyTorch"),
            Look::SentencePiece => message!("a tokenizer of SentencePiece"),
            Look::Pointer => message!("a pointer of git-lfs to a file that is not here"),
            Look::WebPage => message!("a web page"),
            Look::Python => message!("a program in Python"),
            Look::Json => message!("a JSON file"),
            Look::NumPy => message!("a NumPy array"),
            Look::Zip => message!("a zip archive"),
            Look::Foreign(format) => format.name.clone(),
        }
    }

    /// The command that makes text of a file.
    pub fn converter(self) -> Option<&'static str> {
        match self {
            Look::WebPage => Some("pandoc -f html -t plain FILE -o text.txt"),
            Look::Foreign(format) => format.converter,
            _ => None,
        }
    }

    /// The kind of an archive of zip by some of its bytes: the names of what is in it stand at its
    /// beginning, and all of them at its end.
    pub fn of_zip(some: &[u8]) -> Look {
        let has = |name: &[u8]| some.windows(name.len()).any(|window| window == name);
        let document = DOCUMENTS.iter().find(|(name, _)| has(name));
        document.map_or(Look::Zip, |(_, format)| Look::Foreign(format))
    }

    /// The format of a file that begins so.
    pub fn of_bytes(start: &[u8]) -> Option<Look> {
        let known = KNOWN.iter().find(|(mark, _)| start.starts_with(mark)).map(|(_, look)| *look);
        let has = |format: &&Foreign| {
            let from = start.get(format.place..).unwrap_or_default();
            format.starts.iter().any(|bytes| from.starts_with(bytes))
        };
        match known.or_else(|| FOREIGN.iter().find(has).map(Look::Foreign)) {
            Some(Look::Zip) if is_pytorch(start) => Some(Look::PyTorch),
            Some(Look::Zip) => Some(Look::of_zip(start)),
            Some(look) => Some(look),
            None if is_gguf(start) => Some(Look::Gguf),
            None if is_safetensors(start) => Some(Look::Safetensors),
            None if is_web_page(start) => Some(Look::WebPage),
            None => None,
        }
    }

    /// The format of the file or folder at a path, as far as it is known.
    pub fn of(path: &Path) -> Option<Look> {
        if path.is_dir() {
            return of_folder(path);
        }
        let mut start = Vec::new();
        let (file, _) = llm_core::base::open_regular(path).ok()?;
        file.take(START).read_to_end(&mut start).ok()?;
        match Look::of_bytes(&start) {
            Some(Look::Gguf) => Some(part_of(path).unwrap_or(Look::Gguf)),
            None if path.extension().is_some_and(|ext| ext == "py") => Some(Look::Python),
            None if path.extension().is_some_and(|ext| ext == "json") => Some(Look::Json),
            look => look,
        }
    }
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(f)
    }
}

/// A folder by the names in it.
fn of_folder(folder: &Path) -> Option<Look> {
    let has = |name: &str| folder.join(name).exists();
    if has("ckpt/last") {
        return Some(Look::Run);
    }
    if has("adapter_config.json") {
        return Some(Look::Adapter);
    }
    if has("config.json") {
        return Some(Look::HuggingFace);
    }
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let count = entries.filter(|path| path.is_file() && looks_like_checkpoint(path)).count();
    (count > 0).then_some(Look::Checkpoints(count))
}

/// As `torch.save` has packed since 1.6: the name of the first file stands behind 30 bytes.
fn is_pytorch(start: &[u8]) -> bool {
    let name = start.get(30..).unwrap_or_default();
    name.windows(9).take(100).any(|window| window == b"/data.pkl")
}

/// A version of 32 bits follows, in either order of bytes.
fn is_gguf(start: &[u8]) -> bool {
    let version = start.strip_prefix(b"GGUF").and_then(|rest| rest.first_chunk::<4>());
    version.is_some_and(|v| matches!(v, [1..=9, 0, 0, 0] | [0, 0, 0, 1..=9]))
}

/// The length of an object of JSON in 64 bits, and the object.
fn is_safetensors(start: &[u8]) -> bool {
    let length = start.first_chunk().map(|length| u64::from_le_bytes(*length));
    length.is_some_and(|n| (2..1 << 30).contains(&n)) && start[8..].starts_with(b"{")
}

fn is_web_page(start: &[u8]) -> bool {
    let start = start.strip_prefix(&UTF8_MARK).unwrap_or(start).trim_ascii_start();
    let begins = |with: &str| {
        start.get(..with.len()).is_some_and(|s| s.eq_ignore_ascii_case(with.as_bytes()))
    };
    begins("<!doctype html") || begins("<html")
}

/// `name-00001-of-00003.gguf`.
fn part_of(path: &Path) -> Option<Look> {
    let name = path.file_stem()?.to_str()?;
    let (rest, of) = name.rsplit_once("-of-")?;
    let (_, n) = rest.rsplit_once('-')?;
    let (n, of) = (n.parse().ok()?, of.parse().ok()?);
    (of > 1).then_some(Look::GgufPart(n, of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_beginning() {
        for (bytes, look) in [
            (&b"GGUF\x03\0\0\0"[..], Look::Gguf),
            (b"GGUF\0\0\0\x03", Look::Gguf),
            (b"\x40\0\0\0\0\0\0\0{\"a\"", Look::Safetensors),
            (b" \n<!DOCTYPE HTML><title>404", Look::WebPage),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:", Look::Pointer),
            (&[b"PK\x03\x04".as_slice(), &[0; 26], b"ckpt/data.pkl"].concat(), Look::PyTorch),
            (&[b"PK\x03\x04".as_slice(), &[0; 26], b"word.xml"].concat(), Look::Zip),
        ] {
            assert_eq!(Look::of_bytes(bytes), Some(look), "{bytes:?}");
        }
        for (bytes, name) in [
            (
                &[b"PK\x03\x04".as_slice(), &[0; 26], b"word/document.xml"].concat()[..],
                "a document of Word",
            ),
            (b"PK\x03\x04..mimetypeapplication/epub+zip", "a book (EPUB)"),
            (b"PK\x03\x04..application/vnd.oasis.opendocument.text", "a document of OpenDocument"),
            (b"\0\0\0\x1cftypisom", "a film"),
            (b"\0\0\0\x1cftypM4A ", "sound"),
            (b"\xFF\xFE\0\0a\0\0\0", "UTF-32"),
        ] {
            assert_eq!(Look::of_bytes(bytes).unwrap().to_string(), name, "{bytes:?}");
        }
        for text in
            ["", "GGUF is a format", "PK", "MZ", "{\"a\": 1}", "version 2", "<p>", "ID3 tags"]
        {
            assert_eq!(Look::of_bytes(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn parts_and_folders_are_known_by_their_names() {
        let part = part_of(Path::new("a-b-00002-of-00003.gguf"));
        assert_eq!(part, Some(Look::GgufPart(2, 3)));
        for name in ["a.gguf", "best-of-3.gguf", "a-1-of-1.gguf"] {
            assert_eq!(part_of(Path::new(name)), None, "{name}");
        }
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Look::of(folder.path()), None);
        fs::write(folder.path().join("a"), b"\x89LLMC\r\n\x1a").unwrap();
        assert_eq!(Look::of(folder.path()), Some(Look::Checkpoints(1)));
        for (name, look) in
            [("config.json", Look::HuggingFace), ("adapter_config.json", Look::Adapter)]
        {
            fs::write(folder.path().join(name), b"{}").unwrap();
            assert_eq!(Look::of(folder.path()), Some(look));
        }
        for (name, look) in
            [("config.py", Some(Look::Python)), ("a.json", Some(Look::Json)), ("b", None)]
        {
            fs::write(folder.path().join(name), b"{}").unwrap();
            assert_eq!(Look::of(&folder.path().join(name)), look);
        }
    }
}
