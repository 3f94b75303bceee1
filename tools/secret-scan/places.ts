// Where a secret may stand: in the answer that hands it out, and in files that are there to hold it.

import type { Frame } from "./run-record.ts";

/** Answers that show a credential: those that make one, and reviews of one, which come back with what was sent. */
const ISSUING_REQUESTS: readonly RegExp[] = [
  /^POST \S*\/ownedaccesskeys(\?\S*)? 20[01]$/,
  // An apply that creates.
  /^PATCH \S*\/ownedaccesskeys\/[^/\s?]+\?\S*fieldManager=\S* 201$/,
  /^POST \S*\/ownedaccesskeys\/[^/\s]+\/rotate(\?\S*)? 20[01]$/,
  /^POST \S*\/virtualclusterinstances\/[^/\s]+\/kubeconfig(\?\S*)? 20[01]$/,
  /^(GET|POST) \S*\/(virtualclusterinstances|clusters)\/[^/\s]+\/accesskey(\?\S*)? 20[01]$/,
  /^POST \S*\/serviceaccounts\/[^/\s]+\/token(\?\S*)? 20[01]$/,
  /^POST \S*\/tokenreviews(\?\S*)? 20[01]$/,
];

/** Whoever may read a Secret is shown what is in it. */
const SHOWING_REQUESTS: readonly RegExp[] = [/^(GET|POST|PUT|PATCH) \S*\/secrets(\/[^/\s?]+)?(\?\S*)? 20[01]$/];

/** What nothing comes of shows nothing. */
const DRY_RUN = /[?&]dryRun=/;

export const isIssuing = ({ kind, place }: Frame): boolean =>
  kind === "answer" && !DRY_RUN.test(place) && ISSUING_REQUESTS.some((pattern) => pattern.test(place));

/** Any version of it, wherever it lies, with variables set for it or not. */
const KUBECTL = "^(env (\\w+=\\S* )+)?(\\S*/)?kubectl[\\w.-]* ";

/** Commands that print a credential, and nothing else of that kind. */
const ISSUING_COMMANDS: readonly RegExp[] = [
  new RegExp(`${KUBECTL}.*create (token |--raw |(-o json )?-f )`),
  /^curl .*\/(kubeconfig|rotate|accesskey)$/s,
  /^node \S*main\.js (key (create|rotate)|kube-?config) /,
];

/** kubectl prints what stands in a kube config when it is asked to. */
const SHOWING_COMMANDS: readonly RegExp[] = [new RegExp(`${KUBECTL}.*config view .*--raw`)];

export const isIssuingCommand = ({ kind, place }: Frame): boolean =>
  kind === "output" && ISSUING_COMMANDS.some((pattern) => pattern.test(place));

/** Where whatever somebody has put in comes out again, however many credentials that are. */
export const isShowing = ({ kind, place }: Frame): boolean =>
  (kind === "answer" ? SHOWING_REQUESTS : SHOWING_COMMANDS).some((pattern) => pattern.test(place));

/** Files that hold secrets for whoever may read them: those of the server, and kube configs of it and of the tests. */
const SECRET_FILES: readonly RegExp[] = [
  /(^|\/)[\w.-]+\.key$/,
  /kubeconfig[\w.-]*$/,
  /^[\w-]+\/[\w.-]+\.yaml$/,
  /\/access-key$/,
];

export const isSecretFile = (name: string): boolean => SECRET_FILES.some((pattern) => pattern.test(name));
