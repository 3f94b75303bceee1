// Name validation. Each kind uses one of these rules, also for generateName as a prefix.
// Source: k8s.io/apimachinery/pkg/api/validation/generic.go

import {
  isDNS1123Label,
  isDNS1123Subdomain,
  isValidPathSegmentName,
  isValidPathSegmentPrefix,
} from "./string-validators.ts";

/** Gives one sentence per broken rule. `prefix`: more text will be appended to the name. */
export type NameValidator = (name: string, prefix: boolean) => readonly string[];

/** A prefix may end in a dash, since the generated suffix follows it. */
const maskTrailingDash = (name: string): string =>
  name.length > 1 && name.endsWith("-") ? `${name.slice(0, -2)}a` : name;

export const nameIsDNSSubdomain: NameValidator = (name, prefix) =>
  isDNS1123Subdomain(prefix ? maskTrailingDash(name) : name);

export const nameIsDNSLabel: NameValidator = (name, prefix) => isDNS1123Label(prefix ? maskTrailingDash(name) : name);

/** Anything that can stand in a URL path: what RBAC objects, whose names hold colons, are allowed. */
export const nameIsPathSegment: NameValidator = (name, prefix) =>
  prefix ? isValidPathSegmentPrefix(name) : isValidPathSegmentName(name);
