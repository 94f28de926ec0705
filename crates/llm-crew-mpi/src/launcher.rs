//! Whether this process was started as one of several.

/// What started this process as one of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// `mpirun` of Open MPI.
    OpenMpi,
    /// `mpiexec` of MPICH and its kin.
    Mpich,
    /// `srun`.
    Slurm,
}

/// The variable in which each says how many there are.
const SIZES: [(Launcher, &str); 3] = [
    (Launcher::OpenMpi, "OMPI_COMM_WORLD_SIZE"),
    (Launcher::Mpich, "PMI_SIZE"),
    (Launcher::Slurm, "SLURM_NTASKS"),
];

impl Launcher {
    /// The launcher that started this process, and how many processes it started; `None` when it is alone. A Slurm job of one
    /// task is alone, and so is a program typed inside of one that has several.
    ///
    /// ```
    /// use llm_crew_mpi::Launcher;
    /// let variable = |name: &str| (name == "PMI_SIZE").then(|| "4".to_string());
    /// assert_eq!(Launcher::of(variable), Some((Launcher::Mpich, 4)));
    /// assert_eq!(Launcher::of(|_| None), None);
    /// ```
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Option<(Launcher, usize)> {
        SIZES.into_iter().find_map(|(launcher, name)| {
            // A batch script has SLURM_NTASKS; only what srun starts has a number of its own.
            if launcher == Launcher::Slurm && variable("SLURM_STEP_ID").is_none() {
                return None;
            }
            let size: usize = variable(name)?.trim().parse().ok()?;
            (size > 1).then_some((launcher, size))
        })
    }

    /// [`Launcher::of`] this process.
    pub fn found() -> Option<(Launcher, usize)> {
        Launcher::of(|name| std::env::var(name).ok())
    }

    /// The launcher's command, as one types it.
    pub fn name(self) -> &'static str {
        match self {
            Launcher::OpenMpi => "mpirun",
            Launcher::Mpich => "mpiexec",
            Launcher::Slurm => "srun",
        }
    }

    /// The number of this process among those that were started, before any library is asked.
    pub fn rank() -> Option<usize> {
        let names = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"];
        names.iter().find_map(|name| std::env::var(name).ok()?.trim().parse().ok())
    }

    /// Whether it is Hydra, the launcher that comes with MPICH, and not one that speaks its
    /// protocol alone. It is the only one that counts the processes of a machine under that name.
    pub fn is_hydra(variable: impl Fn(&str) -> Option<String>) -> bool {
        let is_mpich = Launcher::of(&variable).is_some_and(|(found, _)| found == Launcher::Mpich);
        is_mpich && variable("MPI_LOCALNRANKS").is_some()
    }

    /// How many processes share this machine, this one included.
    pub fn neighbours() -> usize {
        let several = Launcher::found().is_some();
        let said = || Launcher::on_this_machine(|name| std::env::var(name).ok());
        said().filter(|_| several).unwrap_or(1)
    }

    /// How many of them run on this machine, where the launcher says so: its cores are divided by it.
    pub fn on_this_machine(variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
        let names = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"];
        let slurm = || {
            // "2(x3)" or "2,1": tasks of each machine; the first number is good enough.
            let text = variable("SLURM_STEP_TASKS_PER_NODE")?;
            text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        let said = names.iter().find_map(|name| variable(name)?.trim().parse().ok());
        said.or_else(slurm).filter(|&n: &usize| n > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<'a>(set: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| set.iter().find(|(n, _)| *n == name).map(|(_, value)| value.to_string())
    }

    #[test]
    fn each_launcher_is_recognised_and_one_process_is_alone() {
        let of = |set: &[(&str, &str)]| Launcher::of(with(set));
        assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", "2")]), Some((Launcher::OpenMpi, 2)));
        assert_eq!(of(&[("PMI_SIZE", "8")]), Some((Launcher::Mpich, 8)));
        let slurm = [("SLURM_NTASKS", "4"), ("SLURM_STEP_ID", "0")];
        assert_eq!(of(&slurm), Some((Launcher::Slurm, 4)));
        assert_eq!(of(&slurm[..1]), None);
        for alone in ["1", "0", "", "x"] {
            assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", alone)]), None);
        }
    }

    #[test]
    fn hydra_is_told_from_slurm_that_speaks_its_protocol() {
        let is_hydra = |set: &[(&str, &str)]| Launcher::is_hydra(with(set));
        assert!(is_hydra(&[("PMI_SIZE", "4"), ("MPI_LOCALNRANKS", "2")]));
        assert!(!is_hydra(&[("PMI_SIZE", "1"), ("MPI_LOCALNRANKS", "1")]));
        assert!(!is_hydra(&[("PMI_SIZE", "4"), ("SLURM_STEP_ID", "0")]));
        assert!(!is_hydra(&[("OMPI_COMM_WORLD_SIZE", "4")]));
    }

    #[test]
    fn the_neighbours_on_a_machine_are_counted() {
        let of = |set: &[(&str, &str)]| Launcher::on_this_machine(with(set));
        assert_eq!(of(&[("OMPI_COMM_WORLD_LOCAL_SIZE", "2")]), Some(2));
        assert_eq!(of(&[("MPI_LOCALNRANKS", "4")]), Some(4));
        assert_eq!(of(&[("SLURM_STEP_TASKS_PER_NODE", "3(x2),1")]), Some(3));
        assert_eq!(of(&[]), None);
    }
}
