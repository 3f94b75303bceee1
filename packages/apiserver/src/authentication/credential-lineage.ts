// What a credential goes back to: recorded with whatever the server gives out at the request of its bearer, and asked about at every use.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import type { KubeObject, ObjectMeta } from "@postern/apimachinery/meta/object-meta";

/** Only the {@link LineageJudge} knows what is in it. It holds no secret. */
export type CredentialLineage = JsonObject;

/** A request, as far as it says what it came in with. */
type MadeWith = { readonly credential?: { lineage?(): CredentialLineage | undefined } | undefined };

export type LineageJudge = {
  /** Why what goes back to this is good no more; undefined while it is. For the audit log alone. */
  refusalOf(lineage: CredentialLineage): string | undefined;
  /** Calls back once when that may have changed. */
  onRevoked(lineage: CredentialLineage, listener: () => void): Disposable;
  /** What audit events say of a credential that goes back to this. */
  annotationsOf(lineage: CredentialLineage): { readonly [key: string]: string };
};

/** On an object that makes a credential later, for the controller that does. The server alone writes it. */
export const LINEAGE_ANNOTATION = "lineage.apiserver.internal/made-with";

/** Undefined for requests of the server itself, and for those whose credential goes back to nothing. */
export const lineageOf = ({ credential }: MadeWith): CredentialLineage | undefined => credential?.lineage?.();

export function lineageOn({ metadata }: Pick<KubeObject, "metadata">): CredentialLineage | undefined {
  const text = metadata.annotations?.[LINEAGE_ANNOTATION];
  if (text === undefined) return undefined;
  const lineage = parseJson(Buffer.from(text));
  return isJsonObject(lineage) ? lineage : undefined;
}

/** The object with this lineage, whatever its writer says of it. */
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
