//! The headers of the libraries that are installed say what this crate says.

use crate::handle::{Constant, number, object};
use crate::table::{ERROR_ROOM, SERIALIZED, Status};
use std::path::{Path, PathBuf};

const CONSTANTS: [(Constant, &str); 3] = [
    (Constant::World, "MPI_COMM_WORLD"),
    (Constant::Byte, "MPI_BYTE"),
    (Constant::ErrorsReturn, "MPI_ERRORS_RETURN"),
];

const HANDLES: [&str; 4] = ["MPI_Comm", "MPI_Datatype", "MPI_Errhandler", "MPI_Request"];

/// The functions whose types stand in `table.rs` and `library.rs`.
const FUNCTIONS: [&str; 13] = [
    "int MPI_Initialized(int*)",
    "int MPI_Init_thread(int*, char***, int, int*)",
    "int MPI_Get_library_version(char*, int*)",
    "int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler)",
    "int MPI_Comm_rank(MPI_Comm, int*)",
    "int MPI_Comm_size(MPI_Comm, int*)",
    "int MPI_Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)",
    "int MPI_Irecv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)",
    "int MPI_Test(MPI_Request*, int*, MPI_Status*)",
    "int MPI_Get_count(const MPI_Status*, MPI_Datatype, int*)",
    "int MPI_Abort(MPI_Comm, int)",
    "int MPI_Finalize(void)",
    "int MPI_Error_string(int, char*, int*)",
];

/// What the headers of a library say, with one space between any two words. Distributions put them
/// into a folder that is called after it; MPICH's functions have a file of their own.
fn installed(library: &str) -> Vec<String> {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let mut folders = ["/usr/include", "/usr/lib"].map(PathBuf::from).to_vec();
    folders.extend(folders.clone().iter().flat_map(|folder| inside(folder)));
    let is_its = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|n| n.starts_with(library))
    };
    let its = folders.iter().flat_map(|folder| inside(folder)).filter(is_its);
    let places = its.flat_map(|folder| [folder.join("include"), folder]);
    let read = |folder: PathBuf| {
        let header = std::fs::read_to_string(folder.join("mpi.h")).ok()?;
        let functions = std::fs::read_to_string(folder.join("mpi_proto.h")).unwrap_or_default();
        let words = header.split_whitespace().chain(functions.split_whitespace());
        Some(words.collect::<Vec<_>>().join(" "))
    };
    places.filter_map(read).collect()
}

/// What follows a text, up to the first of these characters.
fn after<'a>(header: &'a str, text: &str, ends: &[char]) -> &'a str {
    let (_, rest) = header.split_once(text).unwrap_or_else(|| panic!("no {text:?}"));
    rest.split(ends).next().unwrap_or_default().trim()
}

/// A function as a header declares it, without the names of what it takes.
fn declared(header: &str, name: &str) -> String {
    let taken = after(header, &format!(" int {name}("), &[')']);
    let types = taken.split(',').map(|one| {
        let stars = "*".repeat(one.matches('*').count());
        let words: Vec<&str> = one.split([' ', '*']).filter(|word| !word.is_empty()).collect();
        let is_type = |word: &&&str| {
            word.starts_with("MPI_") || ["const", "void", "int", "char"].contains(*word)
        };
        let words: Vec<&str> = words.iter().take_while(is_type).copied().collect();
        words.join(" ") + &stars
    });
    format!("int {name}({})", types.collect::<Vec<_>>().join(", "))
}

/// What both have alike; `error_room` is the name of the number.
fn check(header: &str, status: &str, error_room: &str) {
    for function in FUNCTIONS {
        let name = function.trim_start_matches("int ").split('(').next().unwrap();
        assert_eq!(declared(header, name), function);
    }
    assert_eq!(after(header, "#define MPI_SUCCESS ", &[' ']), "0");
    let room: usize = after(header, &format!("#define {error_room} "), &[' ']).parse().unwrap();
    assert!(room < ERROR_ROOM);

    let fields = after(header, &format!("struct {status} {{"), &['}']);
    // What stands before the semicolon, without comments: a type and a name.
    let fields = fields.split(';').filter_map(|f| f.trim().rsplit_once(' ')).map(|(f, _)| f);
    let sizes = fields.map(|field| match field.rsplit(' ').next() {
        Some("int") => 4,
        Some("size_t") => size_of::<usize>(),
        other => panic!("a field of type {other:?} in {status}"),
    });
    let size: usize = sizes.sum();
    assert!((20..=size_of::<Status>()).contains(&size), "{size} bytes");
}

#[test]
fn open_mpi_is_as_its_header_says() {
    for header in installed("openmpi") {
        for (constant, name) in CONSTANTS {
            let value = after(&header, &format!("#define {name} OMPI_PREDEFINED_GLOBAL("), &[')']);
            assert_eq!(value.split([',', ' ']).next_back(), object(constant).to_str().ok());
        }
        for handle in HANDLES {
            // "typedef struct ompi_request_t *MPI_Request;"
            let (before, _) = header.split_once(&format!(" *{handle};")).unwrap();
            let mut words = before.rsplit(' ').skip(1);
            assert_eq!([words.next(), words.next()], [Some("struct"), Some("typedef")], "{handle}");
        }
        let levels = "MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,";
        assert!(header.contains(levels)); // 0, 1, 2
        assert_eq!(SERIALIZED, 2);
        check(&header, "ompi_status_public_t", "OPAL_MAX_ERROR_STRING");
    }
}

#[test]
fn mpich_is_as_its_header_says() {
    for header in installed("mpich") {
        for (constant, name) in CONSTANTS {
            let value = after(&header, &format!("#define {name} "), &['#']);
            let value = after(value, "0x", &[')']);
            let value = i32::from_str_radix(value, 16).unwrap();
            assert_eq!(value, number(constant), "{name}");
        }
        for handle in HANDLES {
            assert!(header.contains(&format!(" typedef int {handle};")), "{handle}");
        }
        assert_eq!(
            after(&header, "#define MPI_THREAD_SERIALIZED ", &[' ']),
            SERIALIZED.to_string()
        );
        check(&header, "MPI_Status", "MPI_MAX_ERROR_STRING");
    }
}

#[test]
fn a_declaration_is_read_without_names() {
    let header =
        "OMPI_DECLSPEC int MPI_Isend(const void *buf, int n, MPI_Request *r); int f(void);";
    let expected = "int MPI_Isend(const void*, int, MPI_Request*)";
    assert_eq!(declared(header, "MPI_Isend"), expected);
}
