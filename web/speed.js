// How much faster the program in the terminal is.

export const TERMINAL = {
  /** A step of the built-in stories: `train-gpt-mha` on two cores with AVX2, 46.5 ms, against this core on one in Node, 145 ms: medians of three rounds in turn. */
  times: 3.1,
};
