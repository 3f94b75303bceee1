// Reads an audit.k8s.io/v1 Policy.
// Source: k8s.io/apiserver/pkg/audit/policy/reader.go, k8s.io/apiserver/pkg/apis/audit/validation

import type { AuditLevel, AuditStage } from "@postern/apiserver/audit/audit-event";
import {
  type AuditResources,
  type AuditRule,
  type AuditRules,
  createAuditPolicy,
} from "@postern/apiserver/audit/audit-policy";
import { parse } from "yaml";
import { ConfigurationError } from "../../foundation/config/configuration-error.ts";

const LEVELS: readonly AuditLevel[] = ["None", "Metadata", "Request", "RequestResponse"];
const STAGES: readonly AuditStage[] = ["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"];

/** Throws ConfigurationError that names the member; `path` is for messages. */
export function parseAuditPolicy(path: string, text: string): AuditRules {
  const reader = createReader(path);
  let document: unknown;
  try {
    document = parse(text, { maxAliasCount: 0 });
  } catch (error) {
    throw reader.fault("the file", "is not valid YAML", error);
  }
  const policy = reader.object(document, "the file", [
    "apiVersion",
    "kind",
    "metadata",
    "rules",
    "omitStages",
    "omitManagedFields",
  ]);
  if (policy["apiVersion"] !== "audit.k8s.io/v1" || policy["kind"] !== "Policy") {
    throw reader.fault("apiVersion and kind", "must be audit.k8s.io/v1 and Policy");
  }
  const rules = reader.list(policy["rules"], "rules").map((rule, at) => readRule(rule, `rules[${at}]`, reader));
  // A policy that records nothing at all is a slip of the pen in every case that is known.
  if (rules.length === 0) throw reader.fault("rules", "must have at least one rule");
  return createAuditPolicy(rules, {
    omitStages: reader.choices(policy["omitStages"], "omitStages", STAGES),
    omitManagedFields: reader.flag(policy["omitManagedFields"], "omitManagedFields") ?? false,
  });
}

type Reader = ReturnType<typeof createReader>;

function readRule(value: unknown, at: string, reader: Reader): AuditRule {
  const rule = reader.object(value, at, [
    "level",
    "users",
    "userGroups",
    "verbs",
    "resources",
    "namespaces",
    "nonResourceURLs",
    "omitStages",
    "omitManagedFields",
  ]);
  const [level] = reader.choices([rule["level"]], `${at}.level`, LEVELS);
  const nonResourceURLs = reader.texts(rule["nonResourceURLs"], `${at}.nonResourceURLs`);
  const badUrl = nonResourceURLs.find((url) => url !== "*" && (!url.startsWith("/") || url.slice(0, -1).includes("*")));
  if (badUrl !== undefined) throw reader.fault(`${at}.nonResourceURLs`, "must be paths; * is allowed only at the end");
  const resources = reader.list(rule["resources"], `${at}.resources`);
  if (nonResourceURLs.length > 0 && (resources.length > 0 || rule["namespaces"] !== undefined)) {
    throw reader.fault(at, "may name either resources and namespaces or nonResourceURLs");
  }
  return {
    level: level ?? "None",
    users: reader.texts(rule["users"], `${at}.users`),
    userGroups: reader.texts(rule["userGroups"], `${at}.userGroups`),
    verbs: reader.texts(rule["verbs"], `${at}.verbs`),
    resources: resources.map((entry, index) => readResources(entry, `${at}.resources[${index}]`, reader)),
    namespaces: reader.texts(rule["namespaces"], `${at}.namespaces`),
    nonResourceURLs,
    omitStages: reader.choices(rule["omitStages"], `${at}.omitStages`, STAGES),
    omitManagedFields: reader.flag(rule["omitManagedFields"], `${at}.omitManagedFields`),
  };
}

function readResources(value: unknown, at: string, reader: Reader): AuditResources {
  const { group = "", resources, resourceNames } = reader.object(value, at, ["group", "resources", "resourceNames"]);
  if (typeof group !== "string") throw reader.fault(`${at}.group`, "must be a string");
  const names = reader.texts(resourceNames, `${at}.resourceNames`);
  const kinds = reader.texts(resources, `${at}.resources`);
  if (names.length > 0 && kinds.length === 0) throw reader.fault(`${at}.resourceNames`, "requires resources");
  return { group, resources: kinds, resourceNames: names };
}

function createReader(path: string) {
  const fault = (at: string, why: string, cause?: unknown): ConfigurationError =>
    new ConfigurationError(`${path}: ${at} ${why}: correct the file of --audit-policy-file`, { cause });
  const list = (value: unknown, at: string): readonly unknown[] => {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw fault(at, "must be a list");
    return value;
  };
  const texts = (value: unknown, at: string): readonly string[] =>
    list(value, at).map((item) => {
      if (typeof item !== "string") throw fault(at, "must be a list of strings");
      return item;
    });
  return {
    fault,
    list,
    texts,
    flag(value: unknown, at: string): boolean | undefined {
      if (value === undefined || value === null) return undefined;
      if (typeof value !== "boolean") throw fault(at, "must be true or false");
      return value;
    },
    object(value: unknown, at: string, known: readonly string[]): { readonly [member: string]: unknown } {
      if (typeof value !== "object" || value === null || Array.isArray(value)) throw fault(at, "must be a mapping");
      const unknown = Object.keys(value).find((name) => !known.includes(name));
      if (unknown !== undefined) throw fault(at, `has an unknown field ${JSON.stringify(unknown)}`);
      return { ...value };
    },
    choices<T extends string>(value: unknown, at: string, known: readonly T[]): readonly T[] {
      return texts(value, at).map((text) => {
        const choice = known.find((candidate) => candidate === text);
        if (choice === undefined) throw fault(at, `must be one of ${known.join(", ")}, not ${JSON.stringify(text)}`);
        return choice;
      });
    },
  };
}
