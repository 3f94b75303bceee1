// Encodes a list in protobuf, where the length of all items stands before them: they are encoded once to be measured, and those of long lists once
// more to be sent, so that no list lies in memory as a whole.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import {
  encodeProtobufItem,
  PROTOBUF_LIST_END,
  protobufListHead,
} from "@postern/apimachinery/protobuf/protobuf-object";
import type { CachedObject } from "../../cache/cached-object.ts";
import type { Awaitable } from "../../runtime/awaitable.ts";
import type { ConversionContext } from "./convert-object.ts";
import type { ListEncoding } from "./list-encoding.ts";

/** Bytes of items that are kept from measuring to sending. */
const KEPT_BYTES = 1024 * 1024;

/** Bytes of objects that are measured in one turn. */
const TURN_BYTES = 32 * 1024;

type ListHead = { readonly apiVersion: string; readonly kind: string; readonly metadata: JsonObject };

/** `itemOf`: the form in which an object is an item of the list. The elements of the encoding are the objects themselves. */
export function protobufList(
  head: JsonObject,
  items: readonly CachedObject[],
  itemOf: (object: CachedObject) => JsonObject,
  context: ConversionContext,
): Awaitable<ListEncoding<CachedObject>> {
  // All lists but Tables have such a head.
  const list = head as ListHead;
  const type = { apiVersion: list.apiVersion, kind: list.kind.slice(0, -"List".length) };
  const kept = new Map<CachedObject, Buffer>();
  let bytes = 0;
  const encode = (object: CachedObject): Buffer => encodeProtobufItem(itemOf(object), type);
  const measure = (object: CachedObject): void => {
    const item = encode(object);
    bytes += item.length;
    if (bytes <= KEPT_BYTES) kept.set(object, item);
  };
  const encoding = (): ListEncoding<CachedObject> => {
    const open = protobufListHead(list, bytes);
    return {
      open,
      separator: "",
      close: PROTOBUF_LIST_END,
      empty: Buffer.concat([open, PROTOBUF_LIST_END]),
      element: (object) => kept.get(object) ?? encode(object),
    };
  };
  const size = items.reduce((sum, { byteLength }) => sum + byteLength, 0);
  if (size <= TURN_BYTES) {
    for (const object of items) measure(object);
    return encoding();
  }
  context.weigh?.(size);
  return measureInTurns(items, measure, context).then(encoding);
}

async function measureInTurns(
  items: readonly CachedObject[],
  measure: (object: CachedObject) => void,
  context: ConversionContext,
): Promise<void> {
  let done = 0;
  for (const object of items) {
    measure(object);
    done += object.byteLength;
    if (done < TURN_BYTES) continue;
    done = 0;
    await context.pause?.();
  }
}
