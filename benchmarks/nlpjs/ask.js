// nlp.js behind JSON lines: a request on a line of stdin, its answer on a line of stdout.
//   {"adapt": [[text, intent], …]}   -> {"examples": 60}      a new bot in place of the one before
//   {"parse": [text, …]}             -> {"intents": […], "seconds": […]}
//   {"peak": true}                   -> {"megabytes": 80.1}
// Seconds are taken here, parse by parse: a bot that is written in JavaScript has no pipe to cross.
"use strict";

const readline = require("node:readline");
const { containerBootstrap } = require("@nlpjs/core");
const { LangEn } = require("@nlpjs/lang-en");
const { Nlp } = require("@nlpjs/nlp");

const LANGUAGE = "en";

async function trained(examples) {
  const container = await containerBootstrap();
  container.use(Nlp);
  container.use(LangEn);
  const nlp = container.get("nlp");
  // Nothing is kept on disk, and no part runs that says nothing of intents: nlp.js at its quickest.
  Object.assign(nlp.settings, { autoSave: false, autoLoad: false, calculateSentiment: false, log: false });
  // Every sentence that is asked has one of the bot's intents, so "None" is never the right answer.
  nlp.settings.threshold = 0;
  nlp.nluManager.settings.useNoneFeature = false;
  nlp.nluManager.settings.log = false;
  nlp.addLanguage(LANGUAGE);
  for (const [text, intent] of examples) nlp.addDocument(LANGUAGE, text, intent);
  await nlp.train();
  return nlp;
}

async function intentOf(nlp, text) {
  const { classifications } = await nlp.process(LANGUAGE, text);
  // Where no word of a sentence is known, "None" comes first, and of the rest any is as good as another.
  const named = classifications.find((found) => found.intent !== "None");
  return named === undefined ? "None" : named.intent;
}

async function parsed(nlp, texts) {
  const intents = [];
  const seconds = [];
  for (const text of texts) {
    const started = process.hrtime.bigint();
    intents.push(await intentOf(nlp, text));
    seconds.push(Number(process.hrtime.bigint() - started) / 1e9);
  }
  return { intents, seconds };
}

async function main() {
  let nlp;
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    let answer;
    if (request.adapt) {
      nlp = await trained(request.adapt);
      answer = { examples: request.adapt.length };
    } else if (request.parse) {
      answer = await parsed(nlp, request.parse);
    } else {
      answer = { megabytes: process.resourceUsage().maxRSS / 1024 };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
}

main();
