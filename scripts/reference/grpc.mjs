// The page about the gRPC interface, from the descriptors of proto/ and the comments in it.
import { fieldTable, heading, oneLine } from './markdown.mjs';

/** The numbers of descriptor.proto by which a comment names the place that it is about. */
const MESSAGES = 4;
const ENUMS = 5;
const SERVICES = 6;
const MEMBERS = 2;

const HEAD = `# gRPC reference

Made from [proto/](../proto) by \`npm run gen\`. The service answers the same by reflection.
`;

const FILES = ['vectord/v1/points.proto', 'vectordb/vectordb.proto'];

/** The page, in Markdown, of a set of descriptors in JSON, source info included. */
export function grpcReference({ file: files }) {
  const pages = FILES.map((name) => filePage(files.find((file) => file.name === name)));
  return [HEAD, ...pages].join('\n\n');
}

function filePage(file) {
  const commentOf = comments(file);
  const link = (type) => linked(type, file.package);
  return [
    heading(2, file.package),
    `[${file.name}](../proto/${file.name})`,
    ...file.service.flatMap((service, at) => [
      heading(3, `${file.package}.${service.name}`),
      commentOf(SERVICES, at),
      methodTable(service, (index) => commentOf(SERVICES, at, MEMBERS, index), link),
    ]),
    ...(file.messageType ?? []).map((message, at) =>
      messageSection(file, message, (...path) => commentOf(MESSAGES, at, ...path), link),
    ),
    ...(file.enumType ?? []).map((one, at) =>
      enumSection(file, one, (...path) => commentOf(ENUMS, at, ...path)),
    ),
  ].join('\n\n');
}

function methodTable({ method: methods }, commentOf, link) {
  const rows = methods.map(({ name, inputType, outputType, ...streams }, at) => {
    const asks = `${streams.clientStreaming ? 'stream of ' : ''}${link(inputType)}`;
    const answers = `${streams.serverStreaming ? 'stream of ' : ''}${link(outputType)}`;
    return `| \`${name}\` | ${asks} | ${answers} | ${oneLine(commentOf(at))} |`;
  });
  const head = '| Method | Request | Answer | Meaning |\n| --- | --- | --- | --- |';
  return [head, ...rows].join('\n');
}

function messageSection({ package: own }, { name, field: fields = [] }, commentOf, link) {
  const rows = fields.map((field, at) => ({
    name: `${field.name} = ${field.number}`,
    type: typeOf(field, link),
    meaning: commentOf(MEMBERS, at),
  }));
  const table = rows.length === 0 ? 'No fields.' : fieldTable(rows);
  return [heading(3, `${own}.${name}`), commentOf(), table].join('\n\n');
}

function enumSection({ package: own }, { name, value: values }, commentOf) {
  const rows = values.map(
    (value, at) => `| \`${value.name}\` | ${oneLine(commentOf(MEMBERS, at))} |`,
  );
  return [heading(3, `${own}.${name}`), commentOf(), '| Value | Meaning |\n| --- | --- |', ...rows]
    .join('\n\n')
    .replaceAll('|\n\n|', '|\n|');
}

function typeOf({ type, typeName, label, proto3Optional, oneofIndex }, link) {
  const own = typeName === undefined ? type.replace('TYPE_', '').toLowerCase() : link(typeName);
  if (label === 'LABEL_REPEATED') return `repeated ${own}`;
  if (proto3Optional) return `optional ${own}`;
  return oneofIndex === undefined ? own : `${own}, one of several`;
}

/** A link to the section of a message, by its name without a package where that is this one. */
function linked(type, ownPackage) {
  const full = type.replace(/^\./, '');
  if (full.startsWith('google.')) return `\`${full}\``;
  const anchor = full.toLowerCase().replaceAll('.', '');
  return `[${full.replace(`${ownPackage}.`, '')}](#${anchor})`;
}

/** What the comment before a place says, by the path of numbers that names the place. */
function comments({ sourceCodeInfo: { location: locations } }) {
  const byPath = new Map(
    locations.map(({ path = [], leadingComments = '' }) => [path.join(), leadingComments]),
  );
  return (...path) => byPath.get(path.join())?.trim() ?? '';
}
