// The virtual clusters of a generator that can have a credential, and why the others cannot have one.

import type { KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import { MAX_DATA_SIZE } from "@postern/kubernetes/builtin/core/keyed-data";
import type { Foundation } from "../../../foundation/foundation.ts";
import { faultOf } from "../../../foundation/upstream/upstream-failure.ts";
import type { Requester } from "../../virtual-clusters/kinds/virtual-cluster-instances/subresources/kubeconfig-requester.ts";
import type { ServerAddress } from "../../virtual-clusters/kinds/virtual-cluster-instances/subresources/server-address.ts";
import { secretOfCluster, sizeInSecret } from "../secret-formats.ts";
import type { FleetSecrets } from "./fleet-secrets.ts";
import type { GeneratorActor, GeneratorFault } from "./generator-actor.ts";
import type { GeneratorNeeds } from "./generator-needs.ts";

export type Candidate = {
  readonly instance: VirtualClusterInstance;
  readonly name: string;
  readonly address: ServerAddress;
  readonly requester: Requester;
};

export type FleetCandidates = {
  readonly candidates: readonly Candidate[];
  /** By the name of a virtual cluster. */
  readonly faults: ReadonlyMap<string, GeneratorFault>;
  /** The Secret has no room for all of them. */
  readonly isFull: boolean;
};

/** As long as a token: sizes are computed with it before there is one. */
const TOKEN_PLACE = "x".repeat(64);
/** The rest is for the lines around the entries. */
const MAX_ENTRIES_SIZE = MAX_DATA_SIZE - 1_024;

const SECRET_FULL: GeneratorFault = { reason: "SecretFull", message: "the Secret has no room for it" };

export function createFleetCandidates(
  { names }: Foundation,
  { issuer }: GeneratorNeeds,
  secrets: FleetSecrets,
  pause: () => Promise<void> | undefined,
) {
  return async function candidatesOf(
    generator: KubeconfigGenerator,
    selected: readonly VirtualClusterInstance[],
    { kubeconfigContext }: GeneratorActor,
    signal: AbortSignal,
  ): Promise<FleetCandidates> {
    const project = names.projectOf(generator.metadata.namespace ?? "") ?? "";
    const isReadOnly = generator.spec.role === "view";
    const candidates: Candidate[] = [];
    const faults = new Map<string, GeneratorFault>();
    let bytes = 0;
    let isFull = false;
    for (const instance of selected) {
      await pause();
      const { name = "" } = instance.metadata;
      const secretFault = secrets.faultOf(generator, secretOfCluster(generator, name));
      if (secretFault !== undefined) {
        faults.set(name, secretFault);
        continue;
      }
      try {
        const requester = await issuer.requesterOf(kubeconfigContext(name, signal));
        const address = issuer.addressOf(instance, { isReadOnly });
        bytes += sizeInSecret(generator, project, {
          cluster: name,
          ...entryOf(address),
          token: TOKEN_PLACE,
          labels: {},
        });
        isFull ||= bytes > MAX_ENTRIES_SIZE;
        if (isFull) faults.set(name, SECRET_FULL);
        else candidates.push({ instance, name, address, requester });
      } catch (error) {
        faults.set(name, faultOfError(error));
      }
    }
    return { candidates, faults, isFull };
  };
}

export const entryOf = ({ url, certificateAuthorityPem }: ServerAddress) => ({ server: url, certificateAuthorityPem });

/** Throws what is no answer of the API: a fault of the server. */
export function faultOfError(error: unknown): GeneratorFault {
  if (error instanceof ApiError) return faultOf(error);
  throw error;
}
