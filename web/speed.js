// How much faster the program in the terminal is.

export const TERMINAL = {
  /** 1,500 steps of the built-in stories: 14 to 20 s by `train-gpt-mha` on two cores (README), against 160 s in a tab on one (107 ms a step, the best of 80). */
  times: 8,
};
