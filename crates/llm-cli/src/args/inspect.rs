//! `inspect` and `trace`.

use super::choices::facts;
use super::{ApartArgs, ModelArgs, OutputArgs, PromptArgs};
use crate::words::flags;
use clap::Subcommand;
use llm_lens::HeadName;
use llm_stories::FactKind;
use std::path::PathBuf;

/// What can be inspected.
#[derive(Debug, Subcommand)]
pub enum InspectVerb {
    /// Parameters, memory, and what attention costs with one head and with several
    /// zh: 参数、内存，以及一个头和多个头时注意力的开销
    Model(InspectModelArgs),
    /// Attention weights of every head for a text: who looks at whom
    /// zh: 谁看谁：一段文本里每个头的注意力权重
    Attention(InspectAttentionArgs),
    /// What each head does, measured over many windows
    /// zh: 每个头做什么，在许多窗口上测量
    ///
    /// The places: prev, the token before; first, the first token; itself; word, the letters of its
    /// own word; same, earlier mentions of the same word (or token, where tokens are words); after,
    /// what followed the same token before; copy, tokens equal to the one that comes next; sep,
    /// spaces, punctuation and line ends; answer, in the built-in stories, earlier mentions of the
    /// word that has to be given.
    /// zh: 各类位置：前一个（prev）；第一个（first）；自己（itself）；本词（word），自己所在词的字母；同词（same），同一个词先前出现的地方，词元就是词时看词元；
    /// 其后（after），同一词元先前出现之后的词元；复制（copy），与下一个词元相同的词元；分隔（sep），空格、标点和换行；答案（answer），在内置故事里，
    /// 将要说出的词先前出现的地方。
    ///
    /// A score is the mean weight that a head puts on such places; below the table stands what even
    /// attention to everything would put there. A role is named only when the score is at
    /// least twice that, and at least a tenth of the way from there to 1; the farthest one wins.
    /// zh: 分数是一个头放在这类位置上的平均权重；表的最下面是对一切都平均分配注意力时会放在那里的权重。分数至少是它的两倍，并且至少走完从它到 1 的十分之一，才说出这个头的作用；
    /// 走得最远的那一种算数。
    Heads(MeasuredArgs),
    /// What the model loses without each head, and a checkpoint without some
    /// zh: 去掉每个头各损失多少；也可存下去掉几个头的检查点
    Prune(InspectPruneArgs),
    /// Which heads and MLPs carry an answer: their numbers are put from one text into another
    /// zh: 哪些头和 MLP 承载答案：把一段文本里的数放进另一段
    ///
    /// Two texts of the same length ask for two answers: of the built-in stories one and its twin, with one
    /// fact changed, or --clean and --other. d is the score of the clean text's answer less that of the
    /// other's. put in: what a part computes for the other text is put into the clean one, and the share is
    /// how far d goes over to the other text's: whether the part is enough; taken out: what it computes for the
    /// clean text is put into the other one, and the share is how far d comes back: whether it is needed. turned:
    /// how many answers become the other one. A part carries the answer (*) when both shares are above a tenth beyond
    /// chance, over all pairs that the model is right on (t tests, Holm's method, 5 % for any false one).
    /// zh: 两段一样长的文本问两个答案：内置故事里的一个和它的双胞胎（只改一件事），或者 --clean 和 --other。d 是前者答案的分数减去后者答案的分数。放入：
    /// 把一个部分在另一段文本里算出的数放进前者，份额是 d 向后者靠拢了多少：这个部分够不够；取出：把它在前者里算出的数放进后者，份额是 d 回来了多少：少不少得了它。变了：多少答案变成另一个。
    /// 在模型两边都答对的所有对子上，两个份额都超出偶然地大于十分之一（t 检验，Holm 方法，出现任何一个误报的概率 5 %），就说这个部分承载答案（*）。
    Patch(InspectPatchArgs),
    /// What the model would say after each block, at each position (logit lens)
    /// zh: 每一块之后、每个位置上模型会说什么
    Lens(InspectLensArgs),
}

flags! {
    /// `inspect model`.
    pub struct InspectModelArgs {
        /// Checkpoint, or the folder of a run [default: a new model of the sizes below]
        /// zh: 检查点，或训练目录 [默认：按下面尺寸的新模型]
        load: Option<PathBuf> = "FILE" [
            conflicts_with_all = [
                "vocab", "dmodel", "layers", "heads", "arch", "norm-affine", "tied-head",
                "head-bias", "init",
            ],
        ];
        /// Checkpoint with the weights under the adapter, where they have moved
        /// zh: 装着适配器所依附的权重的检查点，用于它们挪了地方时
        base: Option<PathBuf> = "FILE" [requires = "load"];
        /// Number of different tokens [default: 256]
        /// zh: 不同词元的个数 [默认：256]
        vocab: Option<usize> = "V" [visible_alias = "vocab-size"];
        /// Number of attention heads; must divide the width
        /// zh: 注意力头的个数；必须整除宽度
        heads: Option<u64> = "H" [visible_aliases = ["n-heads", "n-head"]];
        /// Windows in a batch, for the memory [default: the run's]
        /// zh: 一批的窗口数，用于计算内存 [默认：训练时的]
        batch: Option<usize> = "B" [visible_alias = "batch-size"];
        /// One JSON object
        /// zh: 一个 JSON 对象
        json: bool;
        /// Sizes.
        ..model: ModelArgs;
        /// What is printed.
        ..output: OutputArgs;
    }
}

flags! {
    /// `inspect attention`.
    #[command(mut_arg("prompt", |arg| arg.help(
        "Text to read [default: the beginning of an unseen story, or \"The cat sat on the mat\"] \
         zh: 要读的文本 [默认：没见过的故事的开头，或“The cat sat on the mat”]"
    )))]
    pub struct InspectAttentionArgs {
        /// Checkpoint, or the folder of a run
        /// zh: 检查点，或训练目录
        load: PathBuf = "FILE";
        /// The other part of the model.
        ..apart: ApartArgs;
        /// What the text begins with.
        ..prompt: PromptArgs;
        /// Only this block, from 0 (in the terminal, as JSON and as SVG)
        /// zh: 只要这一块，从 0 数起（用于终端、JSON 和 SVG）
        layer: Option<usize> = "L";
        /// Only this head of each block, from 0
        /// zh: 每块只要这个头，从 0 数起
        head: Option<usize> = "H";
        /// Show the last N tokens of the text only [default: 64; what fits on a terminal]
        /// zh: 只显示文本末尾的 N 个词元 [默认：64；终端上能放下的]
        last: Option<u32> = "N" [value_parser = clap::value_parser!(u32).range(1..=1024)];
        /// Write a picture of every block, all heads side by side, into this folder
        /// zh: 每块画一张图，所有的头并排，写到这个目录
        svg: Option<PathBuf> = "DIR";
        /// Write a page with all maps
        /// zh: 写一张包含所有注意力图的网页
        html: Option<PathBuf> = "FILE";
        /// Write arrays for NumPy: tokens (T) and attention (L × H × T × T), of all tokens unless
        /// --last says fewer
        /// zh: 写 NumPy 数组：tokens（T）和 attention（L × H × T × T）；不用 --last 减少时包括所有词元
        npz: Option<PathBuf> = "FILE";
        /// One JSON object
        /// zh: 一个 JSON 对象
        json: bool;
        /// What is printed.
        ..output: OutputArgs;
    }
}

flags! {
    /// `inspect prune`.
    #[command(mut_arg("tokens", |arg| arg.help(
        "Measure on at most N tokens, but one window at least, spread evenly over the text \
         [default: 65536] \
         zh: 最多在 N 个词元上测量，但至少一个窗口，均匀分布在文本里 [默认：65536]"
    )))]
    pub struct InspectPruneArgs {
        /// Windows scored together [default: the run's batch]
        /// zh: 一起计算的窗口数 [默认：训练时的批大小]
        batch: Option<usize> = "B" [visible_alias = "batch-size"];
        /// Switch off the N least missed heads, found one after the other
        /// zh: 关掉最不重要的 N 个头，逐个找出
        drop: Option<usize> = "N";
        /// Switch off these heads: layer.head, from 0 (0.1,1.3)
        /// zh: 关掉这些头：层.头，从 0 数起（0.1,1.3）
        drop_heads: Vec<HeadName> = "L.H" [
            value_parser = head_name, value_delimiter = ',', conflicts_with = "drop",
        ];
        /// Save the model without the dropped heads in this checkpoint (an existing one is
        /// replaced)
        /// zh: 把去掉这些头的模型存到这个检查点（已有的会被替换）
        save: Option<PathBuf> = "FILE";
        /// What is measured.
        ..on: MeasuredArgs;
    }
}

flags! {
    /// `inspect patch`.
    pub struct InspectPatchArgs {
        /// Checkpoint, or the folder of a run
        /// zh: 检查点，或训练目录
        load: PathBuf = "FILE";
        /// The other part of the model.
        ..apart: ApartArgs;
        /// Kind of fact that the stories ask for: thing, found-item, spot, he-she, receiver, who-has,
        /// other-person or other-item [default: other-person]
        /// zh: 故事问哪一类事实：thing、found-item、spot、he-she、receiver、who-has、other-person 或 other-item [默认：other-person]
        fact: Option<FactKind> = "KIND" [
            value_parser = facts(), hide_possible_values = true, conflicts_with = "clean",
        ];
        /// Pairs of stories to measure [default: 64]
        /// zh: 测量多少对故事 [默认：64]
        pairs: Option<u32> = "N" [
            value_parser = clap::value_parser!(u32).range(1..=4096), conflicts_with = "clean",
        ];
        /// Text whose answer is explained, in place of stories
        /// zh: 要解释其答案的文本，代替故事
        clean: Option<String> = "TEXT" [requires = "other"];
        /// Text of as many tokens with another answer
        /// zh: 词元一样多、答案不同的文本
        other: Option<String> = "TEXT" [requires = "clean"];
        /// What follows --clean and --other; the first token of each counts [default: what the model would
        /// say]
        /// zh: --clean 和 --other 之后分别是什么；只看各自的第一个词元 [默认：模型会说的]
        answers: Vec<String> = "TEXT" [num_args = 2, requires = "clean"];
        /// Write arrays for NumPy: put_in, taken_out and turned (pairs × parts), the parts as in --json
        /// zh: 写 NumPy 数组：put_in、taken_out 和 turned（对 × 部分），部分的顺序与 --json 相同
        npz: Option<PathBuf> = "FILE";
        /// One JSON object
        /// zh: 一个 JSON 对象
        json: bool;
        /// What is printed.
        ..output: OutputArgs;
    }
}

flags! {
    /// `inspect lens`.
    pub struct InspectLensArgs {
        /// Checkpoint, or the folder of a run
        /// zh: 检查点，或训练目录
        load: PathBuf = "FILE";
        /// The other part of the model.
        ..apart: ApartArgs;
        /// What the text begins with.
        ..prompt: PromptArgs;
        /// Show the last N tokens of the text only [default: 24]
        /// zh: 只显示文本末尾的 N 个词元 [默认：24]
        last: Option<u32> = "N" [value_parser = clap::value_parser!(u32).range(1..=1024)];
        /// One JSON object
        /// zh: 一个 JSON 对象
        json: bool;
        /// What is printed.
        ..output: OutputArgs;
    }
}

flags! {
    /// A model, unseen text to measure it on, and where the result goes.
    pub struct MeasuredArgs {
        /// Checkpoint, or the folder of a run
        /// zh: 检查点，或训练目录
        load: PathBuf = "FILE";
        /// The other part of the model.
        ..apart: ApartArgs;
        /// Text to measure on; `-` is standard input [default: the run's own unseen text]
        /// zh: 用来测量的文本；`-` 是标准输入 [默认：这次训练留着没学的文本]
        data: Vec<PathBuf> = "FILE" [num_args = 1..];
        /// Measure on at most N tokens, but one window at least, spread evenly over the text
        /// [default: 16384]
        /// zh: 最多在 N 个词元上测量，但至少一个窗口，均匀分布在文本里 [默认：16384]
        tokens: Option<u64> = "N" [value_parser = clap::value_parser!(u64).range(1..)];
        /// Write a page with what was measured
        /// zh: 把测得的结果写成网页
        html: Option<PathBuf> = "FILE";
        /// One JSON object
        /// zh: 一个 JSON 对象
        json: bool;
        /// What is printed.
        ..output: OutputArgs;
    }
}

flags! {
    /// `trace`.
    #[command(mut_arg("prompt", |arg| arg.help("Text that the model reads zh: 模型读的文本")))]
    pub struct TraceArgs {
        /// Sequence of the batch, from 0 [default: 0]
        /// zh: 批里的哪个序列，从 0 数起 [默认：0]
        batch_index: Option<usize> = "B" [help_heading = "Place"];
        /// Head, from 0 [default: 0; in the built-in example the last]
        /// zh: 头，从 0 数起 [默认：0；在内置示例里是最后一个]
        head: Option<usize> = "H" [help_heading = "Place"];
        /// Position that asks, from 0 [default: the last]
        /// zh: 提问的位置，从 0 数起 [默认：最后一个]
        query: Option<usize> = "I" [help_heading = "Place"];
        /// Position that answers, from 0 [default: the one before --query]
        /// zh: 回答的位置，从 0 数起 [默认：--query 的前一个]
        key: Option<usize> = "J" [help_heading = "Place"];
        /// Block of the model, from 0 [default: 0]
        /// zh: 模型的块，从 0 数起 [默认：0]
        layer: Option<usize> = "L" [help_heading = "Place"];
        /// Checkpoint, or the folder of a run [default: a built-in example of three positions]
        /// zh: 检查点，或训练目录 [默认：三个位置的内置示例]
        load: Option<PathBuf> = "FILE" [help_heading = "Model"];
        /// The other part of the model.
        ..apart: ApartArgs [next_help_heading = "Model"];
        /// What the text begins with.
        ..prompt: PromptArgs [next_help_heading = "Model"];
        /// Number of heads of the built-in example: 1, 2 or 4 [default: 2]
        /// zh: 内置示例的头数：1、2 或 4 [默认：2]
        heads: Option<usize> = "H" [visible_alias = "n-heads", help_heading = "Model"];
        /// Put the same sequence into the batch N times [default: 1]
        /// zh: 把同一个序列在批里放 N 次 [默认：1]
        batch: Option<usize> = "N" [visible_alias = "batch-size", help_heading = "Model"];
        /// Every term of long sums and every line of long tables
        /// zh: 长和式的每一项、长表格的每一行都显示
        all: bool;
        /// One JSON object with everything
        /// zh: 一个 JSON 对象，内容齐全
        json: bool;
        /// Threads.
        ..output: OutputArgs;
    }
}

/// `layer.head`, both from 0.
fn head_name(text: &str) -> Result<HeadName, &'static str> {
    let parts = text.split_once('.').and_then(|(layer, head)| {
        Some(HeadName { layer: layer.parse().ok()?, head: head.parse().ok()? })
    });
    parts.ok_or("not layer.head, as 0.1")
}
