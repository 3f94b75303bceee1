// A record of the audit log in words: what was done to which object.

import { type AuditRecord, actorOf } from "@postern/apimachinery/audit/audit-record";
import { projectOf, settings } from "../../settings.ts";
import { named, sentence, t } from "../../texts/text.tsx";

export type RecordObject = {
  readonly resource: string;
  readonly apiGroup: string;
  readonly name: string;
  readonly subresource: string;
  readonly namespace: string;
};

/** Undefined for requests that are about no resource. */
export function objectOf({ object }: Pick<AuditRecord, "object">): RecordObject | undefined {
  if (object.startsWith("/")) return undefined;
  const [path = "", namespace = ""] = object.split(" -n ", 2);
  const [type = "", name = "", ...subresource] = path.split("/");
  const [resource = "", ...group] = type.split(".");
  return { resource, apiGroup: group.join("."), name, subresource: subresource.join("/"), namespace };
}

/**
 * The question to Check access about a request to the platform that a user had no permission for, as the address of that page has it. Undefined for
 * other requests: that page asks about objects of the platform alone.
 */
export function questionOf(record: AuditRecord): { readonly [field: string]: string } | undefined {
  const { code, cluster, verb } = record;
  const object = objectOf(record);
  const user = record.impersonatedUser ?? actorOf(record);
  if (code !== 403 || cluster !== "" || object?.apiGroup !== settings.managementGroup || !isPerson(user))
    return undefined;
  const { resource, subresource, name, namespace } = object;
  const project = projectOf(namespace);
  // Objects of the platform are in projects, or in no namespace.
  if (project === namespace && namespace !== "") return undefined;
  const given = { user, verb, resource, subresource, name, project };
  return Object.fromEntries(Object.entries(given).filter(([, text]) => text !== ""));
}

/** Such as `Create access key ci`. */
export function recordWords(record: Pick<AuditRecord, "object" | "verb">): string {
  const { verb } = record;
  const object = objectOf(record);
  if (object === undefined) return pathWords(verb, record.object);
  const { resource, name, subresource } = object;
  const isMany = verb === "list" || verb === "watch" || verb === "deletecollection";
  const kind = isMany && name === "" ? named("kinds", resource) : named("kind", resource);
  const what = [kind, name].filter(Boolean).join(" ");
  if (subresource === "" || subresource === "status") return filled(named("audit.do", verb), what) ?? `${verb} ${what}`;
  const [head = ""] = subresource.split("/");
  return filled(named("audit.do", head), what) ?? t("audit.doOther", { verb, subresource: head, what });
}

/** Such as `Sign in`, or `POST /backup`. */
function pathWords(verb: string, path: string): string {
  const known = named("audit.path", `${verb} ${path}`);
  return known === `${verb} ${path}` ? `${verb.toUpperCase()} ${path}` : known;
}

/** Undefined for what has no words. */
const filled = (text: string, what: string): string | undefined =>
  text.includes("{what}") ? text.replace("{what}", what) : undefined;

export type Outcome = { readonly tone: "good" | "warn" | "bad"; readonly words: string };

export function outcomeOf({ code }: Pick<AuditRecord, "code">): Outcome {
  if (code === 0) return { tone: "warn", words: t("audit.outcome.none") };
  if (code < 400) return { tone: "good", words: t("audit.outcome.done", { code: String(code) }) };
  if (code === 401 || code === 403) return { tone: "bad", words: t("audit.outcome.refused", { code: String(code) }) };
  return { tone: code >= 500 ? "bad" : "warn", words: t("audit.outcome.failed", { code: String(code) }) };
}

/** The page of a target of the proxy, such as `virtualcluster/shop/dev`. Undefined where there is none. */
export function placeOf(cluster: string): { readonly title: string; readonly to: string } | undefined {
  const [kind = "", first = "", second = ""] = cluster.split("/");
  if (kind === "virtualcluster") return { title: `${first} / ${second}`, to: `/clusters/${first}/${second}` };
  if (kind === "cluster") return { title: first, to: `/host-clusters/${first}` };
  return undefined;
}

/** Why a credential was refused, as a sentence; what was said of a request that failed; undefined for others. */
export function whyOf({ refusal, message }: Pick<AuditRecord, "refusal" | "message">): string | undefined {
  if (refusal !== undefined) {
    const known = named("audit.refusal", refusal);
    return known === refusal ? sentence(refusal) : known;
  }
  return message === undefined ? undefined : sentence(message);
}

/** Users of the platform, whose names may lead to their pages; others have a colon. */
export const isPerson = (user: string): boolean => /^[a-z0-9][a-z0-9.-]{0,252}$/.test(user);
