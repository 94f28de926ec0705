// What the page of a report and that of the trainer in a tab both say, in English and Chinese.

export const SHARED_WORDS = {
  language: ['Language', '语言'], colours: ['Colours', '配色'], light: ['Light', '浅色'], dark: ['Dark', '深色'],
  train: ['training loss', '训练损失'], val: ['validation loss', '验证损失'], factsRight: ['Facts right', '答对的事实'],
};
