// How much faster the program in the terminal is, measured.

export const TERMINAL = {
  /** Tokens per second of `train-gpt-mha` on two cores over those of the page in Chromium on one, both on the built-in stories with the usual settings. */
  times: 5,
};
