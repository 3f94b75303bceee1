// Shows objects without a controller as Ready, for `kubectl wait` and for tools that check after an apply.

import type { Condition } from "@postern/api/conditions";
import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { SealedFields } from "@postern/apiserver/registry/strategy";

/** For a resource whose status clients may write: it has no field owner, because clients send back what they read. */
export const UNOWNED_STATUS: SealedFields = {
  paths: [["status"]],
  seal: (object, previous) => ({ object, sealed: previous }),
};

/** For its strategy: the object without the condition that clients saw. */
export function withoutShownReady<T extends KubeObject>(object: T, reason: string): T {
  const { status, ...rest } = object;
  const conditions = isJsonObject(status) ? status["conditions"] : undefined;
  if (!isJsonObject(status) || !Array.isArray(conditions)) return object;
  const isShown = (condition: JsonValue): boolean =>
    isJsonObject(condition) && condition["type"] === "Ready" && condition["reason"] === reason;
  const { conditions: _, ...others } = status;
  const kept = conditions.filter((condition) => !isShown(condition));
  const next = kept.length === 0 ? others : { ...others, conditions: kept };
  // The rest keeps the members that make it an object of its kind.
  return (Object.keys(next).length === 0 ? rest : { ...rest, status: next }) as T;
}

/** For the `present` of a resource. A stored condition of that type is kept. */
export const presentReady =
  (reason: string) =>
  (object: CachedObject): CachedObject => {
    const value = object.decode();
    const status = isJsonObject(value["status"]) ? value["status"] : {};
    const known = Array.isArray(status["conditions"]) ? status["conditions"] : [];
    if (known.some((condition) => isJsonObject(condition) && condition["type"] === "Ready")) return object;
    const lastTransitionTime = value.metadata.creationTimestamp;
    const ready: Condition = {
      type: "Ready",
      status: "True",
      reason,
      message: "",
      ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
    };
    return CachedObject.fromObject(object.key, { ...value, status: { ...status, conditions: [...known, ready] } });
  };
