// The files of a TypeScript program and what each imports of the others, read from its source. Types
// count, tests do not. Not seen: a file that is loaded by other means than an import, such as that of
// a worker thread.
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/**
 * Reads the program below `folder`. Answers its files by their paths (`http::routes.ts`), each with
 * the set of files below the folder that it imports.
 */
export function readProgram(folder) {
  const files = readdirSync(folder, { recursive: true })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.test.ts'))
    .toSorted();
  const known = new Set(files);
  return new Map(
    files.map((file) => {
      const paths = importsIn(readFileSync(join(folder, file), 'utf8')).flatMap((path) => {
        const source = posix.join(posix.dirname(file), path).replace(/\.js$/, '.ts');
        return [source, `${source}x`];
      });
      return [nameOf(file), new Set(paths.filter((path) => known.has(path)).map(nameOf))];
    }),
  );
}

/** The relative paths that a file imports or exports from. */
function importsIn(text) {
  const found = withoutComments(text).matchAll(/\b(?:from|import)\s*\(?\s*(['"`])(\..*?)\1/g);
  return Array.from(found, ([, , path]) => path);
}

/** Cuts out comments, but not what looks like one in a string. */
function withoutComments(text) {
  const words = /\/\/[^\n]*|\/\*[^]*?\*\/|(['"])(?:\\.|(?!\1)[^\\\n])*\1|`(?:\\[^]|[^\\`])*`/g;
  return text.replaceAll(words, (word) => (word.startsWith('/') ? ' ' : word));
}

function nameOf(path) {
  return path.replaceAll('/', '::');
}
