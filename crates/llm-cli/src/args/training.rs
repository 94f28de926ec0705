//! Flags of a training run. Every one is optional: what is not given comes from the checkpoint,
//! the preset or the built-in values, in that order.

use super::choices::{ENDS, FORMS, PRESETS, arches};
use super::{CrewArgs, NanoGptFlags, OutputArgs, ProbeArgs, SamplingArgs, TRAIN_PY, TokenizerArgs};
use crate::crew::members;
use crate::flags::{Further, HEADS, LEARNING, LENGTH, OPTIONS, SEED, SIZES, Typed, VAL_FRAC};
use crate::words::{flags, one_of};
use llm_core::recipe::{DataForm, EndOfText};
use llm_core::settings::Value;
use llm_run::arch::Arch;
use llm_run::defaults::Preset;
use llm_run::numbers::duration;
use llm_run::options::{Habits, Options};
use llm_run::rewards::Judge;
use llm_run::settings::Given;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

flags! {
    /// Everything that training takes.
    #[derive(Clone, Default)]
    pub struct TrainArgs {
        /// Settings from a TOML file, its keys named like flags (lr = 1e-3); flags typed here win,
        /// paths in it count from the current folder
        /// zh: 从 TOML 文件读设置，键与选项同名（lr = 1e-3）；命令行上写的优先，文件里的路径从当前目录算起
        config: Option<PathBuf> = "FILE" [help_heading = "Settings"];
        /// Print all settings as such a file, and do nothing
        /// zh: 把全部设置按这种文件的样子打印出来，什么都不做
        print_config: Option<bool> = "0|1" rare [help_heading = "Settings"];
        /// nanoGPT's name for data/NAME/train.bin and val.bin beside it.
        dataset: Option<PathBuf> = "NAME" [hide = true, conflicts_with_all = ["data", "val"]];
        /// The training data.
        ..files: DataArgs;
        /// Go on with other data than the checkpoint was trained on
        /// zh: 换一份数据接着训练，而不用检查点原来的数据
        allow_data_change: Option<bool> = "0|1" rare [help_heading = "Data"];
        /// Sizes.
        ..model: ModelArgs;
        /// Number of attention heads.
        ..heads: Typed<HEADS>;
        /// How it learns.
        ..recipe: RecipeArgs;
        /// Continue from this checkpoint (or the folder of a run); nothing else is needed
        /// zh: 从这个检查点（或训练目录）接着训练；不需要别的
        load: Option<PathBuf> = "FILE" [visible_alias = "resume", help_heading = "Checkpoints"];
        /// With --load: learn from pairs of answers, of which one is better: lines of JSON in --data with prompt, chosen
        /// and rejected (DPO)
        /// zh: 加 --load：从成对的回答里学，其中一个更好：--data 里的 JSON 行，带 prompt、chosen 和 rejected（DPO）
        dpo: Option<bool> = "0|1" rare [help_heading = "Training", conflicts_with = "reward"];
        /// Leave the model of --load as it is, and train matrices of this rank beside its own (LoRA); how it
        /// learns then begins anew: lr 1e-3, linear, warm-up of 5 steps or 3 %, no decay, one epoch
        /// zh: --load 的模型不变，只训练旁边这个秩的小矩阵（LoRA）；学法重来：1e-3、线性、预热 5 步或 3 %、一遍
        lora: Option<usize> = "R" [visible_alias = "lora-rank", help_heading = "Checkpoints"];
        /// The weights under the adapter of --load, where they are no longer in the file that it names
        /// zh: --load 的适配器所依附的权重，用于它们已不在它所写的文件里时
        base: Option<PathBuf> = "FILE" rare [help_heading = "Checkpoints", requires = "load"];
        /// Keep less of a step: compute each block again on the way back, in a third more time, for the same
        /// bytes
        /// zh: 一步里少存些东西：反向时把每个块再算一遍，多花三分之一的时间，结果一字不差
        recompute: Option<bool> = "0|1" rare [help_heading = "Checkpoints"];
        /// A text of the kind that the model of --load knows: what its bytes cost before the first step and after
        /// the last is said beside the loss on unseen text
        /// zh: 一段 --load 的模型本来就懂的文本：训练前后它每字节要多少比特，会同未见文本的损失一起报告
        forget: Option<PathBuf> = "FILE" rare [help_heading = "Output", requires = "load"];
        /// Save the run in this file (an existing one is replaced)
        /// zh: 存到这个文件（已有的会被替换）
        save: Option<PathBuf> = "FILE" [help_heading = "Checkpoints", conflicts_with = "out"];
        /// Save the run in this folder, as DIR/ckpt/last [default: runs/NNN, the next free number]
        /// zh: 存到 DIR/ckpt/last [默认：下一个空的 runs/NNN]
        out: Option<PathBuf> = "DIR" [alias = "out-dir", help_heading = "Checkpoints"];
        /// Save nothing
        /// zh: 什么都不保存
        no_save: Option<bool> = "0|1" [help_heading = "Checkpoints"];
        /// Save the optimizer's moments too, for going on exactly; 1: in `best` as well
        /// [default: 1, but not in `best`]
        /// zh: 连优化器的矩也保存，以便一字不差地继续；1：`best` 里也存 [默认：1，但 `best` 里不存]
        save_opt: Option<bool> = "0|1" rare [help_heading = "Checkpoints"];
        /// Save after every N steps too; 0: only at the end [default: 250]
        /// zh: 每 N 步也保存一次；0：只在结束时 [默认：250]
        save_every: Option<u64> = "N" rare [
            visible_alias = "save-interval", help_heading = "Checkpoints",
        ];
        /// Keep the last N periodic checkpoints too, as DIR/ckpt/step-... [default: 0]
        /// zh: 还保留最近 N 个定期检查点，即 DIR/ckpt/step-... [默认：0]
        keep: Option<usize> = "N" rare [help_heading = "Checkpoints", conflicts_with = "save"];
        /// Measure the validation loss after every N steps; 0: only at the end [default: 250]
        /// zh: 每 N 步测一次验证损失；0：只在结束时 [默认：250]
        eval_every: Option<u64> = "N" [visible_alias = "eval-interval", help_heading = "Output"];
        /// Report the loss after every N steps; 0: never [default: 10]
        /// zh: 每 N 步报告一次损失；0：从不 [默认：10]
        log_every: Option<u64> = "N" rare [visible_alias = "log-interval", help_heading = "Output"];
        /// Write a sample after every N steps too
        /// zh: 每 N 步也写一段样本
        sample_every: Option<u64> = "N" rare [help_heading = "Output"];
        /// Memorise one batch, as a check of the settings; nothing is saved
        /// zh: 把一批数据背下来，用来检验设置；什么都不保存
        overfit: Option<bool> = "0|1" rare [
            help_heading = "Output", conflicts_with_all = ["load", "save", "out", "accum"],
        ];
        /// Say what would be done, what memory and time it takes here, and do nothing
        /// zh: 说明会做什么、在这里要多少内存和时间，但什么都不做
        dry_run: Option<bool> = "0|1" [help_heading = "Output"];
        /// What works on it.
        ..crew: CrewArgs;
        /// What is printed.
        ..output: OutputArgs;
        /// Text after training.
        ..sampling: SamplingArgs;
        /// Probes after training.
        ..probes: ProbeArgs;
        /// What nanoGPT's `train.py` takes besides.
        ..nano_gpt: NanoGptFlags<TRAIN_PY>;
    }
}

flags! {
    /// The training data, and what is unseen.
    #[derive(Clone, Default)]
    pub struct DataArgs in "Data" {
        /// Text to learn: files and folders, also packed with gzip; `-` is standard input [default:
        /// built-in stories]
        /// zh: 要学的文本：文件和目录，用 gzip 压缩的也行；`-` 是标准输入 [默认：内置故事]
        data: Vec<PathBuf> = "FILE" [num_args = 1..];
        /// What --data and --val hold, where it is not seen or is no text
        /// zh: --data 和 --val 里是什么，用于看不出来或不是文本时
        data_as: Option<DataForm> = "KIND" rare [
            visible_alias = "tokens", value_parser = one_of(FORMS),
        ];
        /// Where a text ends, and a token says so: none, files (after each of several) or marked
        /// (also where <|endoftext|> is written) [default: files]
        /// zh: 文本在哪里结束，并用一个词元表示：none（不结束）、files（有几个文件时，每个之后）或 marked（还有写着 <|endoftext|> 的地方） [默认：
        /// files]
        end_of_text: Option<EndOfText> = "WHERE" rare [value_parser = one_of(ENDS)];
        /// What is unseen.
        ..val_frac: Typed<VAL_FRAC>;
        /// Validation text of its own: files and folders; all of --data is then learned
        /// zh: 单独的验证文本：文件和目录；这时 --data 全部用来学
        val: Vec<PathBuf> = "FILE" [
            num_args = 1.., visible_alias = "val-data", conflicts_with = "val-frac",
        ];
        /// Tokens.
        ..tokenizer: TokenizerArgs;
    }
}

flags! {
    /// Sizes of a new model.
    #[derive(Clone, Default)]
    pub struct ModelArgs in "Model" {
        /// Numbers.
        ..sizes: Typed<SIZES>;
        /// A set of options: `gpt2` stands for --norm-affine --tied-head --head-bias 0 --init gpt2
        /// zh: 一组选项：`gpt2` 代表 --norm-affine --tied-head --head-bias 0 --init gpt2
        arch: Option<Arch> = "NAME" rare [value_parser = arches(false)];
        /// Choices.
        ..options: Typed<OPTIONS>;
        /// Options that not every program offers.
        ..further: Further;
    }
}

flags! {
    /// How a model learns.
    #[derive(Clone, Default)]
    pub struct RecipeArgs in "Training" {
        /// How long.
        ..length: Typed<LENGTH>;
        /// Steps as passes over the training data; with --load: that many more
        /// zh: 步数，以训练数据的遍数计；加 --load 时再走这么多遍
        epochs: Option<f64> = "X" rare [conflicts_with = "steps"];
        /// Choose sizes, tokenizer, dropout and steps, as far as they are not typed, for a run on
        /// --data that takes about this long here (90s, 10m, 1h30m); what is chosen is said
        /// zh: 为 --data 选一次大约走这么久的训练（90s、10m、1h30m）：没写出的由它选，并说出选了什么
        time: Option<Duration> = "TIME" [
            value_parser = duration, conflicts_with_all = ["steps", "epochs"],
        ];
        /// The recipe.
        ..learning: Typed<LEARNING>;
        /// A number of the optimizer's own, such as momentum=0.9; repeatable [default: its own]
        /// zh: 优化器自己的一个数，例如 momentum=0.9；可以写几次 [默认：它自己的]
        optimizer_set: Vec<String> = "NAME=X" rare;
        /// Take no longer than this (90s, 10m, 1h30m), the last measurement included; save, and
        /// leave the rest to --load
        /// zh: 连同最后的测量，总共不超过这么久（90s、10m、1h30m）；到时就保存，余下的留给 --load
        max_time: Option<Duration> = "TIME" [value_parser = duration];
        /// Stop when N measurements in a row bring no better validation loss; 0: never
        /// zh: 连续 N 次测量验证损失都没有变好就停；0：从不
        patience: Option<u64> = "N" rare;
        /// Leave out updates whose loss or gradient norm stands out by more than Z standard
        /// deviations (6 is usual); 0: none
        /// zh: 损失或梯度范数超出 Z 个标准差的更新跳过不做（常用 6）；0 表示都不跳过
        skip_spikes: Option<f32> = "Z" rare;
        /// The seed.
        ..seed: Typed<SEED>;
        /// A set of values to start from: `original` has those of the C++ trainer
        /// zh: 一组起始值：`original` 是 C++ 训练程序的那一组
        preset: Option<Preset> = "NAME" rare [value_parser = one_of(PRESETS)];
    }
}

impl TrainArgs {
    /// The flags with the files that `--dataset` stands for.
    pub fn with_dataset(mut self) -> TrainArgs {
        if let Some(name) = self.dataset.take() {
            let folder = Path::new("data").join(name);
            self.files.data = vec![folder.join("train.bin")];
            self.files.val = vec![folder.join("val.bin")];
            // Few of GPT-2's numbers look like anything but text.
            self.files.data_as.get_or_insert(DataForm::U16);
        }
        self
    }

    /// What the run is asked for.
    #[rustfmt::skip] // several fields a line
    pub fn options(&self) -> Options {
        let TrainArgs {
            files, allow_data_change, model, recipe, load, lora, base, recompute, forget, save, out, no_save, save_opt,
            save_every, keep, eval_every, log_every, sample_every, overfit, dry_run, crew, sampling, probes, ..
        } = self.clone();
        let DataArgs { data, data_as, end_of_text, val, tokenizer, .. } = files;
        let RecipeArgs {
            optimizer_set, epochs, time, max_time, patience, skip_spikes, preset, ..
        } = recipe;
        Options {
            given: self.given(), optimizer_set, arch: model.arch,
            attention: model.further.attention, attention_set: model.further.attention_set, preset, epochs, time, max_time,
            data, data_as, end_of_text, val, held: BTreeMap::new(), allow_data_change,
            tokenizer: tokenizer.options(),
            load, lora, base, recompute, forget, save, out, no_save,
            dry_run: dry_run == Some(true), overfit: overfit == Some(true),
            habits: Habits {
                eval_every, save_every, log_every, sample_every, keep, save_opt, patience,
                skip_spikes, remembered: Vec::new(),
            },
            device: crew.device.unwrap_or_default(), members: members(crew.crew),
            shard_optimizer: crew.shard_optimizer,
            writes: sampling.prompt.flag().is_some(), reads: probes.any(),
        }
    }

    /// The settings that were given.
    pub fn given(&self) -> Given {
        let TrainArgs { files, heads, recipe, dpo, .. } = self.clone();
        let RecipeArgs { length, mut learning, seed, .. } = recipe;
        if dpo == Some(true) {
            learning.0.insert("reward", Value::Text(Judge::PAIRS.into()));
        }
        let all = [files.val_frac.0, length.0, learning.0, seed.0, heads.0, self.model.given()];
        all.into_iter().flatten().collect()
    }
}

impl ModelArgs {
    /// The settings that were given.
    pub fn given(&self) -> Given {
        let ModelArgs { sizes, options, further, .. } = self.clone();
        [sizes.0, options.0, further.given].into_iter().flatten().collect()
    }
}
