import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

/** The published contract: clients are built from it, so nothing in it may ever change. */
const MESSAGES = {
  UUID: ['string value = 1'],
  PointID: ['UUID id = 1'],
  DenseVector: ['repeated float values = 1'],
  Payload: ['ContentType content_type = 1', 'string content = 2'],
  Point: ['PointID id = 1', 'Payload payload = 2', 'DenseVector vector = 3'],
  InsertVectorRequest: ['DenseVector vector = 1', 'Payload payload = 2'],
  InsertVectorsBatchRequest: ['repeated InsertVectorRequest vectors = 1'],
  InsertVectorsBatchResponse: ['repeated PointID ids = 1'],
  SearchRequest: [
    'DenseVector query_vector = 1',
    'Similarity similarity = 2',
    'uint64 limit = 3',
    'uint64 ef = 4',
  ],
  SearchResponse: ['repeated PointID result_point_ids = 1'],
  SearchPointsBatchRequest: ['repeated SearchRequest queries = 1'],
  SearchPointsBatchResponse: ['repeated SearchResponse results = 1'],
};

const ENUMS = {
  ContentType: ['Image = 0', 'Text = 1'],
  Similarity: ['Euclidean = 0', 'Manhattan = 1', 'Hamming = 2', 'Cosine = 3'],
};

const METHODS = [
  'rpc InsertVector(InsertVectorRequest) returns (PointID)',
  'rpc InsertVectorsBatch(InsertVectorsBatchRequest) returns (InsertVectorsBatchResponse)',
  'rpc DeletePoint(PointID) returns (google.protobuf.Empty)',
  'rpc GetPoint(PointID) returns (Point)',
  'rpc SearchPoints(SearchRequest) returns (SearchResponse)',
  'rpc SearchPointsBatch(SearchPointsBatchRequest) returns (SearchPointsBatchResponse)',
];

const proto = readFileSync(new URL('../proto/vectordb/vectordb.proto', import.meta.url), 'utf8')
  .replaceAll(/\/\/.*$/gm, '')
  .replaceAll(/\s+/g, ' ');

/** The statements within the braces of each block of a kind. */
function blocks(kind: string): Record<string, string[]> {
  const found = proto.matchAll(new RegExp(`\\b${kind} (\\w+) \\{([^}]*)\\}`, 'g'));
  return Object.fromEntries(
    Array.from(found, ([, name = '', content = '']) => [name, statements(content)]),
  );
}

function statements(content: string): string[] {
  return content
    .split(';')
    .map((statement) => statement.trim().replace(/ ?\(/g, '('))
    .filter((statement) => statement !== '');
}

describe('the contract of the gRPC interface', () => {
  test('is proto3, package vectordb', () => {
    expect(proto).toMatch(/^ ?syntax = "proto3"; package vectordb;/);
  });

  test('has these messages with these fields', () => {
    expect(blocks('message')).toEqual(MESSAGES);
  });

  test('has these enumerations with these values', () => {
    expect(blocks('enum')).toEqual(ENUMS);
  });

  test('has the service VectorDB with these methods', () => {
    const methods = METHODS.map((method) => method.replace(' returns (', ' returns('));
    const found = blocks('service');
    expect(Object.keys(found)).toEqual(['VectorDB']);
    expect(found['VectorDB']?.toSorted()).toEqual(methods.toSorted());
  });
});
