// Compiles src/ twice, to ES modules in dist/esm and to CommonJS in dist/cjs, each with
// its declarations; and test/maelstrom.ts to dist/test, which is not packed.

import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);
const { bin } = require('typescript/package.json');
const tsc = join(dirname(require.resolve('typescript/package.json')), bin.tsc);

const kinds = [
  { folder: 'esm', type: 'module', options: ['--module', 'nodenext'] },
  { folder: 'cjs', type: 'commonjs', options: ['--module', 'commonjs', '--moduleResolution', 'bundler'] },
];

rmSync(join(here, 'dist'), { recursive: true, force: true });
for (const { folder, type, options } of kinds) {
  execFileSync(process.execPath, [tsc, '--project', here, '--outDir', join('dist', folder), ...options],
    { cwd: here, stdio: 'inherit' });
  mkdirSync(join(here, 'dist', folder), { recursive: true });
  writeFileSync(join(here, 'dist', folder, 'package.json'), `{ "type": "${type}" }\n`);
}
execFileSync(process.execPath, [tsc, '--project', join(here, 'test')], { cwd: here, stdio: 'inherit' });
