// The creator of a generator, as the controller acts for it: with the generator's access key, and without access for a time.

import type { KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { createSystemContext } from "@postern/apiserver/context/system-context";
import type { Foundation } from "../../../foundation/foundation.ts";
import { accessKeyIdentity } from "../../access-keys/access-key-identity.ts";
import { ownerUid, sameOwner } from "../../access-keys/access-key-owner.ts";
import type { AccessKeyState } from "../../access-keys/access-key-state.ts";
import { mayWriteSecret } from "../../authorization/may-write-secret.ts";
import { ownerOfCreator } from "../kinds/kubeconfig-generators/strategy.ts";
import type { GeneratorNeeds } from "./generator-needs.ts";

export type GeneratorFault = { readonly reason: string; readonly message: string };

export type GeneratorActor = {
  readonly user: UserInfo;
  /** Credentials are created with it. */
  readonly key: AccessKeyState;
  /** Its predecessor, whose credentials are being replaced. */
  readonly previous: AccessKeyState | undefined;
  /** The context of a request by the creator for a kubeconfig of the virtual cluster. */
  kubeconfigContext(name: string, signal: AbortSignal): RequestContext;
};

export async function actorOf(
  { metadata, spec, status = {} }: KubeconfigGenerator,
  { names, runtime: { clock } }: Foundation,
  { keys: { index: keys }, directory, authorization: { authorizer } }: GeneratorNeeds,
): Promise<GeneratorActor | GeneratorFault> {
  const { namespace = "" } = metadata;
  const { creator, accessKey = "", previousAccessKey = "" } = status;
  if (creator === undefined)
    return { reason: "NoCreator", message: "it was not written with an access key of a user, team or subject" };
  const owner = ownerOfCreator(creator);
  const key = keys.byName(accessKey);
  if (key === undefined || !sameOwner(key.owner, owner))
    return { reason: "AccessKeyGone", message: `its access key ${JSON.stringify(accessKey)} was deleted: ${RENEW}` };
  const refusal = keys.stateOf(key);
  if (refusal !== undefined)
    return { reason: "AccessKeyRefused", message: `its access key is refused (${refusal.message}): ${RENEW}` };
  if (ownerUid(owner, directory) !== creator.uid)
    return { reason: "CreatorGone", message: `the ${owner.kind} ${JSON.stringify(owner.name)} was deleted` };
  const user = accessKeyIdentity(key, { directory, names });
  const credential = { id: key.id };
  for (const verb of ["create", "update"] as const) {
    if (await mayWriteSecret(verb, { namespace, name: spec.secretRef.name }, { user, credential }, authorizer))
      continue;
    return { reason: "SecretsForbidden", message: `its creator may not ${verb} secrets in the namespace any more` };
  }
  const previous = previousAccessKey === "" ? undefined : keys.byName(previousAccessKey);
  return {
    user,
    key,
    previous: sameOwner(previous?.owner, owner) ? previous : undefined,
    kubeconfigContext: (name, signal) =>
      createSystemContext(
        {
          ...{ verb: "create", apiGroup: names.managementGroup, apiVersion: "v1" },
          ...{ resource: "virtualclusterinstances", subresource: "kubeconfig", namespace, name },
        },
        { clock, signal, user },
      ).with({ credential }),
  };
}

const RENEW = "its creator gets another by a change of its spec";
