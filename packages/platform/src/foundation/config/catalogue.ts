// The catalogue of all options. Flags, environment names, file keys, help and reference all derive from it.

import type { Option } from "./option.ts";
import { auditOptions } from "./options/audit-options.ts";
import { etcdOptions } from "./options/etcd-options.ts";
import { frontProxyOptions } from "./options/front-proxy-options.ts";
import { limitOptions } from "./options/limit-options.ts";
import { noticeOptions } from "./options/notice-options.ts";
import { platformOptions } from "./options/platform-options.ts";
import { serverOptions } from "./options/server-options.ts";
import { sessionRecordingOptions } from "./options/session-recording-options.ts";
import { signInOptions } from "./options/sign-in-options.ts";

export const CATALOGUE = {
  ...serverOptions,
  ...etcdOptions,
  ...platformOptions,
  ...signInOptions,
  ...frontProxyOptions,
  ...noticeOptions,
  ...auditOptions,
  ...sessionRecordingOptions,
  ...limitOptions,
};

type OptionTree = { readonly [key: string]: Option<unknown> | OptionTree };

/** The values of a tree of options, in the same tree. */
export type ValuesOf<Tree> = {
  readonly [Key in keyof Tree]: Tree[Key] extends Option<infer Value> ? Value : ValuesOf<Tree[Key]>;
};

export type CatalogueEntry = {
  /** Keys from the root of the file, such as `["platform", "domain"]`. */
  readonly keys: readonly string[];
  /** The same as people write it: `platform.domain`. */
  readonly path: string;
  /** Such as `POSTERN_PLATFORM_DOMAIN`. */
  readonly environmentName: string;
  readonly option: Option<unknown>;
};

export const ENVIRONMENT_PREFIX = "POSTERN_";
export const CONFIG_ENVIRONMENT_NAME = `${ENVIRONMENT_PREFIX}CONFIG`;

export const environmentNameOf = (flag: string): string =>
  `${ENVIRONMENT_PREFIX}${flag.toUpperCase().replaceAll("-", "_")}`;

/** Every option, in the order of the reference. */
export const CATALOGUE_ENTRIES: readonly CatalogueEntry[] = flatten(CATALOGUE, []);

function flatten(tree: OptionTree, parents: readonly string[]): readonly CatalogueEntry[] {
  return Object.entries(tree).flatMap(([key, member]) => {
    const keys = [...parents, key];
    if (!isOption(member)) return flatten(member, keys);
    return [{ keys, path: keys.join("."), environmentName: environmentNameOf(member.flag), option: member }];
  });
}

function isOption(member: Option<unknown> | OptionTree): member is Option<unknown> {
  return typeof member["parse"] === "function";
}
