// The ancestors of a credential: recorded with all credentials that it requests, and checked at every use of those.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import type { KubeObject, ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import type { Awaitable } from "../runtime/awaitable.ts";

/** Opaque to all but the {@link LineageVerifier}. It contains no secret. */
export type CredentialLineage = JsonObject;

/** The credential of a request. */
type MadeWith = { readonly credential?: { lineage?(): CredentialLineage | undefined } | undefined };

export type LineageVerifier = {
  judge(lineage: CredentialLineage): Awaitable<LineageVerdict>;
  /** Calls back once when that may have changed. */
  onRevoked(lineage: CredentialLineage, listener: () => void): Disposable;
};

/** For the audit log alone. */
export type LineageVerdict = {
  /** Why credentials with this lineage are invalid; undefined while they are valid. */
  readonly refusal: string | undefined;
  /** Audit annotations of requests with a credential of this lineage. */
  readonly annotations: { readonly [key: string]: string };
};

/** On an object that makes a credential later, for the controller that does. The server alone writes it. */
export const LINEAGE_ANNOTATION = "lineage.apiserver.internal/made-with";

/** Undefined for requests of the server itself, and for credentials without a lineage. */
export const lineageOf = ({ credential }: MadeWith): CredentialLineage | undefined => credential?.lineage?.();

export function lineageOn({ metadata }: Pick<KubeObject, "metadata">): CredentialLineage | undefined {
  const text = metadata.annotations?.[LINEAGE_ANNOTATION];
  if (text === undefined) return undefined;
  const lineage = parseJson(Buffer.from(text));
  return isJsonObject(lineage) ? lineage : undefined;
}

/** The object with this lineage, regardless of its previous content. */
export function withLineage<T extends { readonly metadata: ObjectMeta }>(
  object: T,
  lineage: CredentialLineage | undefined,
): T {
  const { annotations, ...metadata } = object.metadata;
  const { [LINEAGE_ANNOTATION]: claimed, ...others } = annotations ?? {};
  const text = lineage === undefined ? undefined : JSON.stringify(lineage);
  if (claimed === text) return object;
  const wanted = text === undefined ? others : { ...others, [LINEAGE_ANNOTATION]: text };
  return {
    ...object,
    metadata: Object.keys(wanted).length === 0 ? metadata : { ...metadata, annotations: wanted },
  };
}
