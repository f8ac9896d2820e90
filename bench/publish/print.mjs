// Prints what a benchmark found: node bench/publish/print.mjs NAME FILE.
import { readFileSync } from 'node:fs';
import { BENCHMARKS } from './benchmarks.mjs';
import { markdown } from './markdown.mjs';

const [name, file] = process.argv.slice(2);
const report = JSON.parse(readFileSync(file, 'utf8'));
console.log(markdown(BENCHMARKS[name].title, report));
