// What llama.cpp makes of a model: reads {model, context, prompts, tokens: [ids], greedy, answer} from standard input
// and writes into the file `answer`, for each prompt, its tokens and its text again, piece by piece; for each
// list of ids, the probabilities of the next token and what follows greedily.
//
// Run by tests/gguf/llama_cpp.py, in a folder where npm has put node-llama-cpp.

import {readFileSync, writeFileSync} from "node:fs";
import {getLlama, LlamaLogLevel} from "node-llama-cpp";

const job = JSON.parse(readFileSync(0, "utf8"));
const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.error, maxThreads: 1});
const model = await llama.loadModel({modelPath: job.model});
const prompts = job.prompts.map((prompt) => {
    const tokens = model.tokenize(prompt);
    return {tokens, pieces: tokens.map((token) => model.detokenize([token]))};
});
const lists = [];
for (const tokens of job.tokens) {
    const context = await model.createContext({contextSize: job.context, threads: 1});
    const sequence = context.getSequence();
    const greedy = [];
    let probabilities;
    const options = {temperature: 0, yieldEogToken: true};
    for await (const next of sequence.evaluateWithMetadata(tokens, {probabilities: true}, options)) {
        probabilities ??= [...next.probabilities];
        greedy.push(next.token);
        if (greedy.length >= job.greedy) break;
    }
    lists.push({probabilities, greedy});
    await context.dispose();
}
writeFileSync(job.answer, JSON.stringify({prompts, lists}));
process.exit(0);
