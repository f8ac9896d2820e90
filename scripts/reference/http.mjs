// The page about the HTTP interface, from docs/openapi.yaml.
import { fieldTable, heading, oneLine } from './markdown.mjs';

const METHODS = ['get', 'post', 'put', 'delete'];

const HEAD = `# HTTP reference

Made from [openapi.yaml](openapi.yaml) by \`npm run gen\`. The service answers that document at \`/docs/openapi.yaml\`, with its own dimension in it.
`;

/** The tags of the document, in the order of the page, and how their sections are called. */
const SECTIONS = [
  ['v1', 'Points under /v1'],
  ['points', 'Points'],
  ['search', 'Search'],
  ['service', 'The service'],
];

/** The page, in Markdown. */
export function httpReference(document) {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) => [path, method, item[method]]),
  );
  const sectionOf = ([tag, title]) =>
    [
      heading(2, title),
      document.tags.find(({ name }) => name === tag).description,
      ...operations.filter(([, , { tags }]) => tags[0] === tag).map(operationSection),
    ].join('\n\n');
  return [
    HEAD,
    document.info.description,
    ...SECTIONS.map(sectionOf),
    heading(2, 'Errors'),
    'What an operation does not say otherwise about these statuses:',
    errorTable(document.components.responses),
    heading(2, 'Schemas'),
    ...Object.entries(document.components.schemas).map(schemaSection),
  ].join('\n\n');
}

function operationSection([path, method, operation]) {
  const { summary, description = '', security, requestBody, responses } = operation;
  const common = Object.entries(responses).filter(([, { $ref }]) => $ref !== undefined);
  const own = Object.entries(responses).filter(([, { $ref }]) => $ref === undefined);
  return [
    heading(3, `${method.toUpperCase()} ${path}`),
    `${summary}.${security?.length === 0 ? ' Needs no key.' : ''}`,
    description,
    ...(requestBody === undefined ? [] : contentOf('Body', requestBody)),
    ...own.flatMap(([status, response]) =>
      contentOf(`**${status}**: ${oneLine(response.description)}`, response),
    ),
    `Errors: ${common.map(([status, { $ref }]) => `[${status}](#${anchorOf($ref)})`).join(', ')}.`,
  ].join('\n\n');
}

/** What a body or an answer holds, with its examples. */
function contentOf(title, { content = {} }) {
  const [first] = Object.entries(content);
  if (first === undefined) return [title];
  const [type, { schema, example, examples = {} }] = first;
  const values = example === undefined ? Object.values(examples) : [{ value: example }];
  const isJson = type.startsWith('application/json');
  return [
    `${title}${isJson ? ` ${typeOf(schema)}.` : ''}`,
    ...(schema.properties === undefined ? [] : [propertyTable(schema)]),
    ...(isJson ? values.map(({ value }) => json(value)) : []),
  ];
}

function errorTable(responses) {
  const rows = Object.entries(responses).map(
    ([name, { description }]) =>
      `| <a id="${name.toLowerCase()}"></a>${name} | ${cell(description)} |`,
  );
  return ['| Name | When |', '| --- | --- |', ...rows].join('\n');
}

function schemaSection([name, schema]) {
  const { description = '', properties, allOf = [] } = schema;
  const type = properties === undefined ? [`${typeOf(schema)}.`] : [];
  const tables = [schema, ...allOf].filter((part) => part.properties !== undefined);
  return [heading(3, name), description, ...type, ...tables.map(propertyTable)].join('\n\n');
}

function propertyTable({ properties, required = [] }) {
  return fieldTable(
    Object.entries(properties).map(([name, value]) => ({
      name,
      type: typeOf(value),
      meaning: `${required.includes(name) ? 'Required. ' : ''}${meaningOf(value)}`.trim(),
    })),
  );
}

function meaningOf({ description = '', default: fallback, minimum, maximum }) {
  const parts = [oneLine(description)];
  if (minimum !== undefined) parts.push(`At least ${minimum}.`);
  if (maximum !== undefined) parts.push(`At most ${maximum}.`);
  if (fallback !== undefined) parts.push(`Default: \`${JSON.stringify(fallback)}\`.`);
  return parts.filter((part) => part !== '').join(' ');
}

/** A schema in a few words; named ones are links. */
function typeOf(schema) {
  if (schema.$ref !== undefined) {
    return `[${schema.$ref.split('/').at(-1)}](#${anchorOf(schema.$ref)})`;
  }
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.allOf !== undefined) {
    const named = schema.allOf.filter(({ $ref, type }) => $ref !== undefined || type !== undefined);
    return named.map(typeOf).join(' and ');
  }
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) return choices.map(typeOf).join(' or ');
  if (schema.type === 'array') return `array of ${typeOf(schema.items ?? {})}`;
  return [schema.type ?? 'any value'].flat().join(' or ');
}

function anchorOf(reference) {
  return reference.split('/').at(-1).toLowerCase();
}

function json(value) {
  return `\`\`\`json\n${JSON.stringify(value)}\n\`\`\``;
}

function cell(text) {
  return oneLine(text).replaceAll('|', '\\|');
}
