import { expect, test } from 'vitest';
import { misspelledSettings } from './misspelled.js';
import { SETTINGS } from './settings.js';

test.each([
  ['DIMENSIONS', 'DIMENSION'],
  ['DIMENTION', 'DIMENSION'],
  ['HTPT_PORT', 'HTTP_PORT'],
  ['DATAPATH', 'DATA_PATH'],
  ['hnsw_ef', 'HNSW_EF'],
  ['HNSW_EF_CONSTRUCTOIN', 'HNSW_EF_CONSTRUCTION'],
])('%s is taken for %s', (name, meant) => {
  expect(misspelledSettings({ [name]: '1', PATH: '/bin' })).toEqual([
    `the environment variable ${name} is not a setting and has no effect: is ${meant} meant?`,
  ]);
});

test('the settings themselves and names of other programs pass', () => {
  const names = Object.values(SETTINGS).map(({ name }) => name);
  const others = ['PATH', 'HOME', 'HOSTNAME', 'HTTP_PROXY', 'HTTPS_PORT', 'DATA_DIR', 'PORT', ''];
  const environment = Object.fromEntries([...names, ...others].map((name) => [name, '1']));
  expect(misspelledSettings(environment)).toEqual([]);
});
