// The reference of the library, made from the declarations behind the `index.ts` of @postern/kubernetes and @postern/apiserver.

import { posix } from "node:path";
import { parseSync } from "oxc-parser";
import { readSource } from "../source-files.ts";

/** The part of oxc-parser's syntax tree that is used here. */
type Node = { readonly type: string; readonly start: number; readonly end: number; readonly [member: string]: unknown };

export type LibraryExport = {
  readonly name: string;
  /** The file of the declaration. */
  readonly path: string;
  /** Without comment marks and examples. "" without a docstring. */
  readonly description: string;
  /** TypeScript. */
  readonly examples: readonly string[];
  /** The declaration without bodies of functions. */
  readonly declaration: string;
};

const FACE = "packages/kubernetes/src/index.ts";

/** Topics in their order, by the folder of the declaration. */
const TOPICS: readonly (readonly [topic: string, folder: RegExp])[] = [
  ["Server", /^packages\/kubernetes\/src\/server\/|\/(version|transport)\//],
  ["Resources", /\/(registry|schema)\//],
  ["Objects, requests and errors", /\/(json|meta|validation|context|cache)\//],
  ["Authentication", /\/authentication\//],
  ["Authorization", /\/authorization\//],
  ["Storage", /\/storage\//],
  ["Certificates", /\/x509\//],
  ["Log, clock and randomness", /\/(logging|runtime)\//],
];

/** Everything that `@postern/kubernetes` exports, in the order of its index. */
export function libraryExports(): readonly LibraryExport[] {
  const exports = exportsOf(FACE);
  const names = new Set(exports.map(({ name }) => name));
  return exports.map((one) => ({ ...one, declaration: withOwnTypes(one, names) }));
}

/** Behind a declaration: the types of its file that it mentions, and that are not exported by themselves. */
function withOwnTypes({ path, declaration }: LibraryExport, exported: ReadonlySet<string>): string {
  const { source, body } = parse(path);
  const types = new Map<string, Node>();
  for (const statement of body) {
    const inner = isNode(statement["declaration"]) ? statement["declaration"] : statement;
    if (inner.type === "TSTypeAliasDeclaration" || inner.type === "TSInterfaceDeclaration")
      types.set(nameOf(inner["id"]), statement);
  }
  const shown = new Set(exported);
  const texts = [declaration];
  for (const text of texts) {
    for (const [word] of text.replaceAll(/\/\*.*?\*\//gs, "").matchAll(/\b[A-Z]\w+/g)) {
      const statement = types.get(word);
      if (statement === undefined || shown.has(word)) continue;
      shown.add(word);
      const docs = docsBefore(path, statement.start).description;
      const type = source.slice(statement.start, statement.end).replace(/^export /, "");
      texts.push(`${docs === "" ? "" : comment(docs)}${type}`);
    }
  }
  return texts.join("\n\n");
}

function exportsOf(path: string): readonly LibraryExport[] {
  const { body } = parse(path);
  return body.flatMap((statement) => {
    const { source, specifiers } = statement;
    if (!isNode(source)) throw new Error(`${path} has a statement that is no re-export`);
    const target = resolve(path, String(source["value"]));
    if (statement.type === "ExportAllDeclaration") return exportsOf(target);
    const names = nodes(specifiers).map(({ exported }) => nameOf(exported));
    return names.map((name) => exportOf(target, name));
  });
}

function resolve(from: string, specifier: string): string {
  const [, name = "", file = "index"] = /^@postern\/([^/]+)(?:\/(.+))?$/.exec(specifier) ?? [];
  return name === "" ? posix.join(posix.dirname(from), specifier) : `packages/${name}/src/${file}.ts`;
}

const parsed = new Map<string, ReturnType<typeof parseFile>>();

function parse(path: string): ReturnType<typeof parseFile> {
  const known = parsed.get(path) ?? parseFile(path);
  parsed.set(path, known);
  return known;
}

function parseFile(path: string) {
  const source = readSource(path);
  const { program, comments, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  return { source, comments, body: nodes(program.body) };
}

function exportOf(path: string, name: string): LibraryExport {
  const { source, body } = parse(path);
  for (const statement of body) {
    const { declaration } = statement;
    if (!isNode(declaration)) continue;
    const declared = declaration.type === "VariableDeclaration" ? nodes(declaration["declarations"])[0] : declaration;
    if (declared === undefined || nameOf(declared["id"]) !== name) continue;
    const docs = docsBefore(path, statement.start);
    return { name, path, ...docs, declaration: render(path, source, declaration, declared, name) };
  }
  throw new Error(`${path} does not declare ${name}`);
}

/** The docstring that ends right before a position. */
function docsBefore(path: string, position: number): Pick<LibraryExport, "description" | "examples"> {
  const { source, comments } = parse(path);
  const comment = comments.find(
    ({ type, value, end }) =>
      type === "Block" && value.startsWith("*") && end <= position && source.slice(end, position).trim() === "",
  );
  const text = (comment?.value.slice(1) ?? "").replaceAll(/^[ \t]*\* ?/gm, "").trim();
  const [description = "", ...examples] = text.split(/^@example$/m);
  return {
    description: description.trim(),
    examples: examples.map((example) => /```ts\n(.*?)```/s.exec(example)?.[1] ?? ""),
  };
}

function render(path: string, source: string, declaration: Node, declared: Node, name: string): string {
  const of = (node: Node): string => source.slice(node.start, node.end);
  switch (declaration.type) {
    case "FunctionDeclaration":
      return withoutBody(source, declaration);
    case "ClassDeclaration":
      return renderClass(path, source, declaration, name);
    case "VariableDeclaration": {
      const { id, init } = declared;
      if (isNode(id) && isNode(id["typeAnnotation"])) return `const ${of(id)};`;
      if (isNode(init) && init.type === "ArrowFunctionExpression") return renderArrow(source, init, name);
      const object = isNode(init) && init.type === "TSAsExpression" ? init["expression"] : init;
      if (isNode(object) && object.type === "ObjectExpression") return renderMembers(path, source, object, name);
      throw new Error(`${path}: ${name} needs a type`);
    }
    default:
      return of(declaration);
  }
}

/** `async function f(a: A): B;` */
function withoutBody(source: string, node: Node): string {
  const { body } = node;
  const end = isNode(body) ? body.start : node.end;
  return `${source.slice(node.start, end).trim().replace(/;$/, "")};`.replace(/^async /, "");
}

function renderArrow(source: string, arrow: Node, name: string): string {
  const { body, returnType } = arrow;
  if (!isNode(body)) throw new Error(`${name} has no body`);
  const head = source
    .slice(arrow.start, body.start)
    .replace(/=>\s*\(?\s*$/, "")
    .replace(/^async /, "")
    .trim();
  return `function ${name}${head}${isNode(returnType) ? "" : fieldOf(source, body, name)};`;
}

/** The type of a field of the schema builder, whose functions return `field<T>(…)`. */
function fieldOf(source: string, { callee, typeArguments }: Node, name: string): string {
  if (nameOf(callee) !== "field" || !isNode(typeArguments)) throw new Error(`${name} needs the type that it returns`);
  return `: Field${source.slice(typeArguments.start, typeArguments.end)}`;
}

/** An object of functions of the same file, each with its docstring. */
function renderMembers(path: string, source: string, object: Node, name: string): string {
  const members = nodes(object["properties"]).flatMap((property) => {
    const { key, value } = property;
    const member = nameOf(key);
    const docs = docsBefore(path, property.start).description;
    if (!isNode(value)) return [];
    const declaration =
      value.type === "ArrowFunctionExpression"
        ? renderArrow(source, value, member)
        : localFunction(path, nameOf(value), member);
    return `${docs === "" ? localDocs(path, value) : comment(docs)}${declaration.replace(/^function /, "")}`;
  });
  return `const ${name}: {\n${indent(members.join("\n"))}\n};`;
}

function localFunction(path: string, name: string, member: string): string {
  const { source, body } = parse(path);
  const found = body.find(({ type, id }) => type === "FunctionDeclaration" && nameOf(id) === name);
  if (found === undefined) throw new Error(`${path} has no function ${name}`);
  return withoutBody(source, found).replace(`function ${name}`, `function ${member}`);
}

function localDocs(path: string, value: Node): string {
  const found = parse(path).body.find(({ type, id }) => type === "FunctionDeclaration" && nameOf(id) === nameOf(value));
  const docs = found === undefined ? "" : docsBefore(path, found.start).description;
  return docs === "" ? "" : comment(docs);
}

/** Public members alone. */
function renderClass(path: string, source: string, node: Node, name: string): string {
  const { superClass, body } = node;
  const members = nodes(isNode(body) ? body["body"] : []).flatMap((member) => {
    const { key, value, type, typeAnnotation } = member;
    if (isNode(key) && key.type === "PrivateIdentifier") return [];
    const docs = docsBefore(path, member.start).description;
    const before = docs === "" ? "" : comment(docs);
    if (type === "MethodDefinition" && isNode(value) && isNode(value["body"])) {
      return `${before}${source.slice(member.start, value["body"].start).trim()};`;
    }
    const end = isNode(typeAnnotation) ? typeAnnotation.end : member.end;
    return `${before}${source
      .slice(member.start, end)
      .replace(/;$/, "")
      .replace(/^override /, "")};`;
  });
  const base = isNode(superClass) ? ` extends ${source.slice(superClass.start, superClass.end)}` : "";
  return `class ${name}${base} {\n${indent(members.join("\n"))}\n}`;
}

const comment = (text: string): string => `/** ${text.replaceAll("\n", "\n * ")} */\n`;
const indent = (text: string): string => text.replaceAll(/^(?=.)/gm, "  ");

/** docs/reference/library.md. */
export function renderLibraryReference(exports: readonly LibraryExport[]): string {
  const topics = TOPICS.map(([topic, folder]) => {
    const all = exports.filter(({ path }) => folder.test(path));
    // Before the types, the functions that take and return them.
    return { topic, list: [...all.filter(isValue), ...all.filter((one) => !isValue(one))] };
  });
  const placed = new Set(topics.flatMap(({ list }) => list.map(({ name }) => name)));
  const missing = exports.filter(({ name }) => !placed.has(name));
  if (missing.length > 0) throw new Error(`no topic for ${missing.map(({ name }) => name).join(", ")}`);
  const contents = topics.map(
    ({ topic, list }) =>
      `| ${topic} | ${list.map(({ name }) => `[\`${name}\`](#${name.toLowerCase()})`).join(" · ")} |`,
  );
  const sections = topics.map(({ topic, list }) => `## ${topic}\n\n${list.map(renderExport).join("\n")}`);
  return `# Library

<!-- Made by tools/generate-library-reference.ts. -->

Everything that \`@postern/kubernetes\` exports. All else in the packages is internal. Before 1.0, exports may change with a release as well
([support](support.md)). The [README](../../packages/kubernetes/README.md) begins with a server in five minutes.

| topic | exports |
|---|---|
${contents.join("\n")}

${sections.join("\n")}`;
}

const isValue = ({ declaration }: LibraryExport): boolean => /^(function|const|class) /.test(declaration);

function renderExport({ name, description, examples, declaration }: LibraryExport): string {
  const parts = [`### \`${name}\``, description, `\`\`\`ts\n${declaration}\n\`\`\``];
  const shown = examples.map((example) => `Example:\n\n\`\`\`ts\n${example}\`\`\``);
  return `${[...parts, ...shown].filter((part) => part !== "").join("\n\n")}\n`;
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string" && "start" in value;

const nodes = (value: unknown): readonly Node[] => (Array.isArray(value) ? value.filter(isNode) : []);

const nameOf = (value: unknown): string =>
  isNode(value) && value.type === "Identifier" && typeof value["name"] === "string" ? value["name"] : "";
