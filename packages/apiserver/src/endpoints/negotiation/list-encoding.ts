// Encodes a list item by item, so that a large list never blocks the event loop.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { encodeYaml } from "@postern/apimachinery/yaml/encode-yaml";
import type { OutputMedia } from "./negotiate-output.ts";
import { decodeValue, isKept, jsonTextOf, type KeptObject, type ObjectValue } from "./object-value.ts";
import { indentJson } from "./pretty.ts";

/** The member of a list that holds its elements. */
export type ElementsMember = "items" | "rows";

/** The text around and between the elements of a list, and the form of each. */
export type ListEncoding<Element = ObjectValue> = {
  readonly open: string | Uint8Array;
  readonly separator: string;
  readonly close: string | Uint8Array;
  /** The whole text of a list without elements. */
  readonly empty: string | Uint8Array;
  element(value: Element): KeptObject | string | Buffer;
};

/** `head` is everything of the list but its elements. */
export function listEncoding(head: JsonObject, member: ElementsMember, { format, pretty }: OutputMedia): ListEncoding {
  if (format === "yaml") return yamlList(head, member);
  return pretty ? prettyList(head, member) : compactList(head, member);
}

function compactList(head: JsonObject, member: ElementsMember): ListEncoding {
  const open = `${stringifyJson(head).slice(0, -"}".length)},"${member}":[`;
  return {
    open,
    separator: ",",
    close: "]}\n",
    empty: `${open}]}\n`,
    element: (value) => (isKept(value) ? value : jsonTextOf(value)),
  };
}

function prettyList(head: JsonObject, member: ElementsMember): ListEncoding {
  const open = `${indentJson(stringifyJson(head)).slice(0, -"\n}".length)},\n  "${member}": [`;
  return {
    open: `${open}\n    `,
    separator: ",\n    ",
    close: "\n  ]\n}",
    empty: `${open}]\n}`,
    element: (value) => indentJson(jsonTextOf(value), 2),
  };
}

/** Members are sorted, and elements start at the column of their member, as in all YAML of the server. */
function yamlList(head: JsonObject, member: ElementsMember): ListEncoding {
  const before = yamlMembers(head, (name) => name < member);
  const after = yamlMembers(head, (name) => name > member);
  return {
    open: `${before}${member}:\n`,
    separator: "",
    close: after,
    empty: `${before}${member}: []\n${after}`,
    element: (value) => encodeYaml([decodeValue(value)]),
  };
}

function yamlMembers(head: JsonObject, wanted: (name: string) => boolean): string {
  const members = Object.entries(head).filter(([name]) => wanted(name));
  return members.length === 0 ? "" : encodeYaml(Object.fromEntries(members));
}
