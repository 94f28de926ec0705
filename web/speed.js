// How much faster the program in the terminal is.

export const TERMINAL = {
  /** A step of the built-in stories: `train-gpt-mha` on two cores, 22.1 ms, against this core on one in Node, 101 ms: medians of three rounds in turn. */
  times: 4.6,
};
