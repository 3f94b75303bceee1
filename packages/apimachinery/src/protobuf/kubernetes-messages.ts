// Finds the protobuf message of a kind. Messages are made of their tables when they are first needed.
//
// A table is the fields of a message, `number:name:type`. A name that is empty: its members are those of the message around it. Before the type, `[]`
// is a list and `{}` a map with texts as names; behind it, `?` is a pointer in Go, whose zero value counts, and `!` a scalar, list or map that JSON always
// has: lists and maps that are absent as null.

import { formsWith } from "./forms.ts";
import { type Field, type Form, MessageType, messageForm } from "./message-type.ts";
import { ACCESS_MESSAGES } from "./messages/access.ts";
import { CLUSTER_MESSAGES } from "./messages/cluster.ts";
import { CORE_MESSAGES } from "./messages/core.ts";
import { KIND_MESSAGES } from "./messages/kinds.ts";
import { WORKLOADS_MESSAGES } from "./messages/workloads.ts";

/** The text behind the first blank of each line, by the text before it. */
const linesOf = (...texts: readonly string[]): Map<string, string> =>
  new Map(
    texts.flatMap((text) =>
      text
        .trim()
        .split("\n")
        .map((line): [string, string] => {
          const blank = line.indexOf(" ");
          return blank < 0 ? [line, ""] : [line.slice(0, blank), line.slice(blank + 1)];
        }),
    ),
  );

const tables = linesOf(ACCESS_MESSAGES, CLUSTER_MESSAGES, CORE_MESSAGES, WORKLOADS_MESSAGES);
const kinds = linesOf(KIND_MESSAGES);
const known = new Map<string, MessageType>();

/** Such as `core.v1.Pod`. */
function messageNamed(name: string): MessageType {
  const type = known.get(name) ?? makeMessage(name);
  known.set(name, type);
  return type;
}

function makeMessage(name: string): MessageType {
  const table = tables.get(name);
  if (table === undefined) throw new Error(`no message ${name}`);
  const ownPackage = name.slice(0, name.lastIndexOf(".") + 1);
  return new MessageType(table === "" ? [] : table.split(" ").map((text) => fieldOf(text, ownPackage)));
}

const FIELD = /^(\d+):([^:]*):(\[\]|\{\})?([^?!]+)([?!]?)$/;

function fieldOf(text: string, ownPackage: string): Field {
  const [, number, name = "", shape, type = "", suffix] = FIELD.exec(text) ?? [];
  return {
    number: Number(number),
    name,
    shape: shape === "[]" ? "list" : shape === "{}" ? "map" : "one",
    form: formOf(type, ownPackage),
    isPointer: suffix === "?",
    isRequired: suffix === "!",
  };
}

const SCHEMA = "apiextensions.v1.JSONSchemaProps";
const forms = formsWith(() => messageNamed(SCHEMA));

function formOf(type: string, ownPackage: string): Form {
  const form = forms[type];
  if (form !== undefined) return form;
  const name = type.includes(".") ? type : `${ownPackage}${type}`;
  return name === SCHEMA ? (forms["schema"] as Form) : messageForm(() => messageNamed(name));
}

/** The message of a kind; undefined for kinds without one, such as custom ones. */
export function messageOfKind(apiVersion: string, kind: string): MessageType | undefined {
  const name = kinds.get(`${apiVersion}/${kind}`) ?? metaMessage(apiVersion, kind);
  return name === undefined ? listMessage(apiVersion, kind) : messageNamed(name);
}

/** The name of the message of a kind, such as `core.v1.Pod`. Lists have none. */
export const messageNameOf = (apiVersion: string, kind: string): string | undefined =>
  kinds.get(`${apiVersion}/${kind}`);

/** `embedded`: the Go struct without a name of its own that it is in. */
type Member = { readonly name: string; readonly type: string; readonly embedded?: string };

/** The members of a message in JSON, without those of forms of their own. Empty for an unknown name. */
function membersOf(name: string): readonly Member[] {
  const ownPackage = name.slice(0, name.lastIndexOf(".") + 1);
  const table = tables.get(name) ?? "";
  const fields = table === "" ? [] : table.split(" ").map((text) => FIELD.exec(text) ?? []);
  return fields.flatMap(([, , member = "", , type = ""]) => {
    const message = type.includes(".") || type in forms ? type : `${ownPackage}${type}`;
    if (member !== "") return [{ name: member, type: message }];
    return membersOf(message).map((inner): Member => ({ embedded: typeName(message), ...inner }));
  });
}

/** `HostPathVolumeSource` of `core.v1.HostPathVolumeSource`. */
const typeName = (message: string): string => message.slice(message.lastIndexOf(".") + 1);

/**
 * A member as Go's decoder names it: the struct that has it, its path from the outermost, with the structs that others embed, and its own type, such as
 * `v1.Probe`. Undefined where the path leads out of messages.
 */
export function goMember(
  message: string,
  path: readonly string[],
): { readonly struct: string; readonly path: string; readonly type: string } | undefined {
  let [struct, type] = [message, message];
  const names: string[] = [];
  for (const name of path) {
    const member = membersOf(type).find((each) => each.name === name);
    if (member === undefined) return undefined;
    struct = type;
    type = member.type;
    names.push(...(member.embedded === undefined ? [] : [member.embedded]), name);
  }
  return { struct: typeName(struct), path: names.join("."), type: type.slice(type.indexOf(".") + 1) };
}

/** The names of the members of a message in JSON. Empty for an unknown name. */
export const messageMembers = (name: string): readonly string[] => membersOf(name).map((member) => member.name);

/** The messages that a message holds, by the member: those of its lists and maps, too. Empty for an unknown name. */
export const heldMessages = (name: string): ReadonlyMap<string, string> =>
  new Map(membersOf(name).flatMap((member) => (member.type in forms ? [] : [[member.name, member.type]])));

/** All lists have the same fields. */
function listMessage(apiVersion: string, kind: string): MessageType | undefined {
  const name = `${apiVersion}/${kind}`;
  const made = known.get(name);
  const item =
    made === undefined && kind.endsWith(LIST) ? messageOfKind(apiVersion, kind.slice(0, -LIST.length)) : undefined;
  if (item === undefined) return made;
  const field = { isPointer: false, isRequired: false } as const;
  const list = new MessageType([
    { ...field, number: 1, name: "metadata", shape: "one", form: messageForm(listMeta) },
    { ...field, number: 2, name: "items", shape: "list", form: messageForm(() => item) },
  ]);
  known.set(name, list);
  return list;
}

const LIST = "List";

/** Those that come in the version of any group, or of the group `meta.k8s.io`. */
function metaMessage(apiVersion: string, kind: string): string | undefined {
  if (kind === "DeleteOptions") return "meta.v1.DeleteOptions";
  return kind === "PartialObjectMetadata" && apiVersion.startsWith("meta.k8s.io/") ? `meta.v1.${kind}` : undefined;
}

/** The message of the metadata of a list. */
export const listMeta = (): MessageType => messageNamed("meta.v1.ListMeta");

/** All kinds that have a message, as `apiVersion/kind`. */
export const messageKinds = (): readonly string[] => [...kinds.keys()];
