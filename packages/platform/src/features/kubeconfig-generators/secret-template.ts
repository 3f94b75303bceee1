// The labels and annotations of a generator's Secrets. An annotation remembers which ones it set, so that those which are no longer wanted go, and
// those of others stay.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import type { ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import type { FleetSecret, StringMap } from "./secret-formats.ts";

type Metadata = Pick<ObjectMeta, "labels" | "annotations">;

/** `marker`: the annotation that remembers the keys. */
export function withTemplate<T extends Metadata>(
  metadata: T,
  { labels, template }: Pick<FleetSecret, "labels" | "template">,
  marker: string,
): T {
  const { [marker]: kept = "", ...annotations } = metadata.annotations ?? {};
  const before = keysIn(kept);
  const now = { labels: Object.keys(template.labels), annotations: Object.keys(template.annotations) };
  const isEmpty = now.labels.length + now.annotations.length === 0;
  return {
    ...metadata,
    labels: { ...without(metadata.labels ?? {}, before.labels), ...template.labels, ...labels },
    annotations: {
      ...without(annotations, before.annotations),
      ...template.annotations,
      ...(isEmpty ? {} : { [marker]: JSON.stringify(now) }),
    },
  };
}

export function hasTemplate(
  metadata: Metadata,
  secret: Pick<FleetSecret, "labels" | "template">,
  marker: string,
): boolean {
  const { labels = {}, annotations = {} } = metadata;
  return equalJson(withTemplate({ labels, annotations }, secret, marker), { labels, annotations });
}

const without = (map: StringMap, keys: readonly string[]): StringMap =>
  Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)));

/** Others may have written it: anything else than keys names none. */
function keysIn(text: string): { readonly labels: readonly string[]; readonly annotations: readonly string[] } {
  const known = readJson(text);
  const keys = (list: string): readonly string[] => {
    const found = known[list];
    return isJsonArray(found) ? found.filter((key) => typeof key === "string") : [];
  };
  return { labels: keys("labels"), annotations: keys("annotations") };
}

function readJson(text: string): JsonObject {
  try {
    const value = parseJson(Buffer.from(text));
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
