// The identity of a CI job or a pod as the credential of commands: POSTERN_TRUST_RULE in place of POSTERN_TOKEN. A key is issued when a command needs one,
// so that a program which runs for days, or the credential plugin in its kubeconfig, always has a valid one.

import { resolve } from "node:path";
import type { NodeTransportOptions } from "@postern/client/transport/node";
import { exchangeIdentity } from "../ci/exchange-identity.ts";
import { findJobIdentity, TOKEN_FILE_VARIABLE } from "../ci/job-identity.ts";
import type { CommandContext } from "../command-context.ts";
import { UsageError } from "../usage-error.ts";
import { DPOP_KEY } from "./request-proof.ts";

type Environment = CommandContext["environment"];

export const TRUST_RULE = "POSTERN_TRUST_RULE";
/** The only rule of the platform that accepts the token. */
const ANY_RULE = "*";

export type WorkloadIdentity = {
  /** A new access key. Throws UsageError. */
  accessKey(): Promise<string>;
  /** Equal for all tokens of the same job or pod under the same rule, and for no others. Throws UsageError. */
  fingerprint(): Promise<string>;
};

/** Undefined without POSTERN_TRUST_RULE. Throws UsageError. */
export function workloadIdentity(
  platform: NodeTransportOptions,
  environment: Environment,
): WorkloadIdentity | undefined {
  const rule = (environment[TRUST_RULE] ?? "").trim();
  if (rule === "") return undefined;
  if ((environment[DPOP_KEY] ?? "") !== "")
    throw new UsageError(`${DPOP_KEY} is for an access key in POSTERN_TOKEN: unset it, or ${TRUST_RULE}`);
  const token = async (): Promise<string> => {
    const readSecret = async (): Promise<undefined> => undefined;
    return (await findJobIdentity({}, platform.server, { environment, readSecret })).token;
  };
  return {
    accessKey: async () =>
      (
        await exchangeIdentity(
          { ...platform, proxyEnvironment: environment },
          await token(),
          rule === ANY_RULE ? undefined : rule,
        )
      ).key,
    fingerprint: async () => JSON.stringify([rule, lastingClaims(await token())]),
  };
}

/** For the process that kubectl runs in another directory. */
export function workloadVariables(
  environment: Environment,
): readonly { readonly name: string; readonly value: string }[] {
  const rule = environment[TRUST_RULE] ?? "";
  const file = environment[TOKEN_FILE_VARIABLE] ?? "";
  if (rule === "") return [];
  return [
    { name: TRUST_RULE, value: rule },
    ...(file === "" ? [] : [{ name: TOKEN_FILE_VARIABLE, value: resolve(file) }]),
  ];
}

/** Claims of one token only; a job or pod has many. */
const CLAIMS_OF_ONE_TOKEN = ["iat", "nbf", "exp", "jti"];

/** The platform verifies them: here they only name what a cached credential was issued for. */
function lastingClaims(token: string): unknown {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    if (claims !== null && typeof claims === "object")
      return Object.entries(claims).filter(([name]) => !CLAIMS_OF_ONE_TOKEN.includes(name));
  } catch {
    // Falls through: the platform says what is wrong with it.
  }
  throw new UsageError("the identity of this job or pod is no JWT");
}
