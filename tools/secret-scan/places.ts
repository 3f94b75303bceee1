// Where a secret is allowed: in the field of the response that issues it, where a test itself put it, and in files for
// secrets.

import { parse } from "yaml";
import type { Frame } from "./run-record.ts";

export type Handout = {
  readonly place: RegExp;
  /** The field with the credential; no other part of the response may contain one. */
  readonly field: readonly string[];
  /** A member that only responses of this kind have. */
  readonly has?: string;
  /** Returns an existing credential on request; all others issue a new one each time. */
  readonly again?: true;
  /** How many credentials there are in the field; default: one. */
  readonly count?: number;
};

/** Responses that issue a credential, each in its one field. */
const HANDOUTS: readonly Handout[] = [
  // Values that read a credential once, and the credential that is read.
  {
    place: /^POST \S*\/(ownedaccesskeys|rotate|kubeconfig)\?\S*wrap=\S* 20[01]$/,
    field: ["status", "wrapped", "value"],
  },
  { place: /^POST \/unwrap 200$/, has: '"accessKey"', field: ["accessKey"] },
  { place: /^POST \/unwrap 200$/, has: '"kubeConfig"', field: ["kubeConfig"] },
  { place: /^POST \S*\/ownedaccesskeys(\?\S*)? 20[01]$/, field: ["spec", "key"] },
  { place: /^POST \/oauth\/token 200$/, field: ["access_token"] },
  // Responses of an identity provider, which has its own tokens.
  { place: /^POST \/token 200$/, field: ["id_token"] },
  { place: /^POST \S*\/ownedaccesskeys\/[^/\s]+\/rotate(\?\S*)? 20[01]$/, field: ["status", "key"] },
  // One for the way through the platform, and one for the cluster itself.
  {
    place: /^POST \S*\/virtualclusterinstances\/[^/\s]+\/kubeconfig(\?\S*)? 20[01]$/,
    has: "-direct",
    field: ["status", "kubeConfig"],
    count: 2,
  },
  { place: /^POST \S*\/virtualclusterinstances\/[^/\s]+\/kubeconfig(\?\S*)? 20[01]$/, field: ["status", "kubeConfig"] },
  {
    place: /^GET \S*\/(virtualclusterinstances|clusters)\/[^/\s]+\/accesskey(\?\S*)? 200$/,
    field: ["accessKey"],
    again: true,
  },
  // The value of a join, and what agents get for it and later for their key.
  { place: /^POST \S*\/(virtualclusterinstances|clusters)\/[^/\s]+\/join(\?\S*)? 20[01]$/, field: ["status", "url"] },
  { place: /^POST \/(join|tunnel\/key) 201$/, field: ["key"] },
  { place: /^POST \S*\/serviceaccounts\/[^/\s]+\/token(\?\S*)? 20[01]$/, field: ["status", "token"] },
];

/** A dry run must not return a credential. */
const DRY_RUN = /[?&]dryRun=/;

/** The rule for a response that issues a credential. */
export const handoutOf = ({ kind, place, content }: Frame): Handout | undefined =>
  kind === "answer" && !DRY_RUN.test(place)
    ? HANDOUTS.find((handout) => handout.place.test(place) && content.includes(handout.has ?? ""))
    : undefined;

/** Any version in any folder, with or without variables. */
const KUBECTL = "^(env (\\w+=\\S* )+)?(\\S*/)?kubectl[\\w.-]* ";

/** Commands whose output is such a response. */
const HANDOUT_COMMANDS: readonly RegExp[] = [
  new RegExp(`${KUBECTL}.*create (--raw |(-o json )?-f )`),
  /^curl .*\/(kubeconfig|rotate|accesskey|unwrap|ownedaccesskeys|token)$/s,
];

/** By the kind of the printed object. */
const FIELD_OF_KIND: { readonly [kind: string]: readonly string[] | undefined } = {
  OwnedAccessKey: ["spec", "key"],
  OwnedAccessKeyRotation: ["status", "key"],
  VirtualClusterInstanceKubeConfig: ["status", "kubeConfig"],
  VirtualClusterAccessKey: ["accessKey"],
  ClusterAccessKey: ["accessKey"],
  ClusterJoin: ["status", "url"],
  TokenRequest: ["status", "token"],
};

/** Commands that print a credential, and nothing else of that kind. */
const ISSUING_COMMANDS: readonly RegExp[] = [
  new RegExp(`${KUBECTL}.*create token `),
  new RegExp(`${KUBECTL}.*create .*-o jsonpath={\\.(spec\\.key|status\\.kubeConfig|status\\.token)}$`),
  // Blocks of pages of the documentation.
  /^(\S+ )*bash -euo pipefail \S+\/tour\.sh$/,
  /^page \S+, issuing block \d+$/,
  /^(env (-i -C \S+ )?(\w+=\S* )+)?(\S*node \S*postern\.js|postern) (key (create|rotate|compromised)|unwrap|ci login|kube-?config|credentials get|credential) /,
];

/** True for standard output of a command. */
const isPrinted = ({ kind, place }: Frame): boolean => kind === "output" && !place.endsWith(" (errors)");

export const isHandoutCommand = (frame: Frame): boolean =>
  isPrinted(frame) && HANDOUT_COMMANDS.some((pattern) => pattern.test(frame.place));

export const isIssuingCommand = (frame: Frame): boolean =>
  isPrinted(frame) && ISSUING_COMMANDS.some((pattern) => pattern.test(frame.place));

export type Parted = { readonly shown: string; readonly rest: string };

/** The field of a response that may contain a credential, and the rest; undefined if the field is empty. */
export function partedAt(content: Buffer, field: readonly string[] | undefined): Parted | undefined {
  const object = objectOf(content);
  const path = field ?? fieldOf(object);
  if (object === undefined || path === undefined) return undefined;
  const last = path.at(-1) ?? "";
  const holder = path.slice(0, -1).reduce<unknown>((value, name) => memberOf(value, name), object);
  const shown = memberOf(holder, last);
  if (typeof shown !== "string" || typeof holder !== "object" || holder === null) return undefined;
  Reflect.deleteProperty(holder, last);
  return { shown, rest: JSON.stringify(object) };
}

function fieldOf(object: Record<string, unknown> | undefined): readonly string[] | undefined {
  const kind = String(object?.["kind"]);
  if (kind === "UnwrappedValue") return [object?.["accessKey"] === undefined ? "kubeConfig" : "accessKey"];
  const isWrapped = memberOf(memberOf(object, "status"), "wrapped") !== undefined;
  return isWrapped ? ["status", "wrapped", "value"] : FIELD_OF_KIND[kind];
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;

/** curl can print it after the response. */
const STATUS_CODE = /(?<=[}\n])\d{3}\s*$/;

function objectOf(content: Buffer): Record<string, unknown> | undefined {
  try {
    const text = content.toString().replace(STATUS_CODE, "");
    const value: unknown = text.trimStart().startsWith("{") ? JSON.parse(text) : parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Responses that return what a client has sent. */
type Return = {
  readonly shows: (frame: Frame) => boolean;
  readonly isPutIn: (frame: Frame) => boolean;
};

const SECRETS = /\/secrets(\/[^/\s?]+)?(\?\S*)?( |$)/;
const IS_SECRET = /\bkind"?: *"?Secret\b/;
const TOKEN_REVIEWS = /^POST \S*\/tokenreviews(\?\S*)?( 20[01])?$/;

export const RETURNS: readonly Return[] = [
  // A caller who may read a Secret gets its content.
  {
    shows: ({ kind, place }) => kind === "answer" && SECRETS.test(place) && / 20[01]$/.test(place),
    isPutIn: ({ kind, place, content }) =>
      kind === "input" ? IS_SECRET.test(content.toString("latin1")) : kind === "request" && SECRETS.test(place),
  },
  // A review returns the token that was sent.
  {
    shows: ({ kind, place }) => kind === "answer" && TOKEN_REVIEWS.test(place),
    isPutIn: ({ kind, place }) => kind === "request" && TOKEN_REVIEWS.test(place),
  },
];

/** Headers that give a browser, or the original command line, the key of its session. */
const SIGN_INS: readonly { readonly place: RegExp; readonly shown: RegExp }[] = [
  {
    place: /^(GET \/login\/callback\/\S+|POST \/login\/(?:key|link|session)) 200 \(headers\)$/,
    shown: /__Host-session=[^;"]+/,
  },
  { place: /^POST \/login\/confirm 303 \(headers\)$/, shown: /http:\/\/localhost:25843\/login\?key=[^"]+/ },
];

/** A response without the data of Secrets that the server wrote for access keys, whose purpose is to contain the value. */
export function withoutDelivered({ kind, place, content }: Frame): Buffer {
  const signIn = kind === "answer" ? SIGN_INS.find((each) => each.place.test(place)) : undefined;
  if (signIn !== undefined) return Buffer.from(content.toString("latin1").replace(signIn.shown, ""), "latin1");
  // The manifests of an agent have the value of their address, in a Secret.
  if (kind === "answer" && /^GET \/join\/\S+ 200$/.test(place)) {
    return Buffer.from(content.toString("latin1").replace(/^ {2}join: \S+$/m, ""), "latin1");
  }
  if (kind !== "answer" || !SECRETS.test(place) || !/ 20[01]$/.test(place)) return content;
  const object = objectOf(content);
  if (object === undefined) return content;
  const items = memberOf(object, "items");
  for (const secret of Array.isArray(items) ? items : [object]) {
    const annotations = memberOf(memberOf(secret, "metadata"), "annotations");
    const isDelivered = Object.keys(annotations ?? {}).some((name) => name.endsWith("/access-key-uid"));
    if (isDelivered && typeof secret === "object" && secret !== null) Reflect.deleteProperty(secret, "data");
  }
  return Buffer.from(JSON.stringify(object));
}

/** kubectl prints the content of its kubeconfigs on request. */
const SHOWING_COMMAND = new RegExp(`${KUBECTL}.*config view .*--raw`);

export const showsItsInput = (frame: Frame): boolean => isPrinted(frame) && SHOWING_COMMAND.test(frame.place);
