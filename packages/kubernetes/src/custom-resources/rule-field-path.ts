// Parses the `fieldPath` of a rule: the field that its error is reported for.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go (ValidFieldPath)

import { propertyOf, type StructuralSchema, valueSchemaOf } from "@postern/apimachinery/schema/structural-schema";
import { keyPath } from "@postern/apimachinery/validation/field-error";

/** The path does not exist in the schema. */
export class FieldPathError extends Error {
  override readonly name = "FieldPathError";
}

const STEP = /\.([^.[\]']*)|\['((?:[^'\\]|\\.)*)'\]/y;

const ESCAPES: { readonly [letter: string]: string } = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "'": "'",
  "\\": "\\",
};

/** `.spec.ports['http']` as errors name it: `.spec.ports[http]`. Throws FieldPathError. */
export function readRuleFieldPath(text: string, schema: StructuralSchema): string {
  const step = new RegExp(STEP);
  let [path, at]: [string, StructuralSchema | undefined] = ["", schema];
  while (step.lastIndex < text.length) {
    const from = step.lastIndex;
    const match = step.exec(text);
    if (match === null) throw new FieldPathError(`expected [ or . but got: ${text.slice(from)}`);
    const name = match[1] ?? unescapeQuoted(match[2] ?? "");
    const isMap: boolean = at?.properties === undefined;
    at = at === undefined ? undefined : isMap ? valueSchemaOf(at) : propertyOf(at, name);
    if (at === undefined) throw new FieldPathError("does not refer to a valid field");
    path = isMap ? keyPath(path, name) : `${path}.${name}`;
  }
  return path;
}

const unescapeQuoted = (text: string): string =>
  text.replace(/\\(.)/gs, (quoted, letter: string) => {
    const character = ESCAPES[letter];
    if (character === undefined) throw new FieldPathError(`invalid string literal: invalid escape char ${quoted}`);
    return character;
  });
