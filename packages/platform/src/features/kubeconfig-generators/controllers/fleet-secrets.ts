// Reads and writes the Secrets of a generator. They alone have the values of its access keys: the server has their hashes.

import type { KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { KubeObject, ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import {
  createControlled,
  deleteControlled,
  updateControlled,
} from "@postern/apiserver/controllers/controlled-objects";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import type { Foundation } from "../../../foundation/foundation.ts";
import { virtualClusterIdentity } from "../../authorization/caller.ts";
import { type FleetSecret, secretOfCluster } from "../secret-formats.ts";
import { hasTemplate, withTemplate } from "../secret-template.ts";
import type { GeneratorActor, GeneratorFault } from "./generator-actor.ts";
import type { GeneratorNeeds } from "./generator-needs.ts";

export type CurrentToken = {
  readonly token: string;
  readonly keyName: string;
  readonly expiresAt: number | undefined;
  /** Whether the key before the generator's present one made it. */
  readonly isPrevious: boolean;
};

type Place = { readonly namespace: string; readonly name: string };

export function createFleetSecrets(
  { names, runtime, installed }: Foundation,
  { keys: { index, secrets: values }, audit }: Pick<GeneratorNeeds, "keys" | "audit">,
) {
  const resource = installed("", "Secret");
  const pause = createTurns(runtime.clock);

  const find = ({ namespace, name }: Place): KubeObject | undefined =>
    resource.view.get(resource.keys.of(namespace, name))?.decode();
  const isMadeFor = ({ metadata }: KubeObject, { metadata: { uid = "" } }: KubeconfigGenerator): boolean =>
    metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.kind === "KubeconfigGenerator") === true;

  /** Why a Secret cannot be written; undefined if it can. */
  const faultOf = (generator: KubeconfigGenerator, name: string): GeneratorFault | undefined => {
    const secret = find({ namespace: generator.metadata.namespace ?? "", name });
    if (secret === undefined) return undefined;
    if (!isMadeFor(secret, generator))
      return {
        reason: "SecretNotOwned",
        message: `the Secret ${JSON.stringify(name)} exists, and was not created for it`,
      };
    if (secret["immutable"] !== true) return undefined;
    return { reason: "SecretImmutable", message: `the Secret ${JSON.stringify(name)} is immutable: delete it` };
  };

  /** By virtual cluster: tokens in the Secrets that are valid, and were made with the generator's access key for that virtual cluster. */
  const tokensIn = async (
    generator: KubeconfigGenerator,
    clusters: readonly string[],
    { key, previous }: Pick<GeneratorActor, "key" | "previous">,
  ): Promise<Map<string, CurrentToken>> => {
    const { namespace = "" } = generator.metadata;
    const byAudience = new Map(clusters.map((name) => [virtualClusterIdentity(names, namespace, name), name]));
    const found = new Map<string, CurrentToken>();
    for (const name of new Set(clusters.map((cluster) => secretOfCluster(generator, cluster)))) {
      const secret = find({ namespace, name });
      if (secret === undefined || !isMadeFor(secret, generator)) continue;
      for (const text of textsOf(secret))
        for (const token of values.format.all(text)) {
          await pause();
          const state = index.find(token);
          if (state === undefined || state.isRetiredValue === true || index.stateOf(state) !== undefined) continue;
          const isPrevious = previous !== undefined && state.parentUids.includes(previous.uid);
          if (!isPrevious && !state.parentUids.includes(key.uid)) continue;
          const cluster = state.audiences.map((audience) => byAudience.get(audience)).find((one) => one !== undefined);
          if (cluster === undefined || secretOfCluster(generator, cluster) !== name) continue;
          if (found.get(cluster)?.isPrevious === false) continue;
          found.set(cluster, { token, keyName: state.name, expiresAt: state.expiresAt, isPrevious });
        }
    }
    return found;
  };

  /** As the creator: what is refused to it is refused here. Throws ApiErrors. */
  const write = async (
    generator: KubeconfigGenerator,
    name: string,
    secret: FleetSecret,
    user: UserInfo,
    signal: AbortSignal,
  ): Promise<void> => {
    const { namespace = "", uid = "", name: generatorName = "" } = generator.metadata;
    const marker = names.key("kubeconfig-generator-template");
    const data = Object.fromEntries(
      Object.entries(secret.content).map(([key, text]) => [key, Buffer.from(text, "utf8").toString("base64")]),
    );
    const port = { runtime, user };
    const existing = find({ namespace, name });
    if (existing === undefined) {
      const owner = {
        apiVersion: `${names.managementGroup}/v1`,
        kind: "KubeconfigGenerator",
        name: generatorName,
        uid,
      };
      const metadata: ObjectMeta = { namespace, name, ownerReferences: [{ ...owner, controller: true }] };
      const templated = withTemplate(metadata, secret, marker);
      const made = { apiVersion: "v1", kind: "Secret", metadata: templated, type: "Opaque", data };
      return await createControlled(port, resource, made, signal);
    }
    const isCurrent = hasTemplate(existing.metadata, secret, marker);
    if (isCurrent && equalJson(existing["data"] ?? {}, data)) return;
    const { resourceVersion = "" } = existing.metadata;
    const transform = (current: KubeObject): KubeObject => ({
      ...current,
      metadata: { ...withTemplate(current.metadata, secret, marker), resourceVersion },
      data,
    });
    await updateControlled(port, resource, existing, { transform }, signal);
  };

  const remove = async (generator: KubeconfigGenerator, name: string, signal: AbortSignal): Promise<void> => {
    const secret = find({ namespace: generator.metadata.namespace ?? "", name });
    if (secret !== undefined && isMadeFor(secret, generator))
      await deleteControlled({ runtime, audit }, resource, secret, signal);
  };

  return { faultOf, tokensIn, write, remove };
}

export type FleetSecrets = ReturnType<typeof createFleetSecrets>;

const textsOf = (secret: KubeObject): readonly string[] =>
  Object.values(secret["data"] ?? {}).map((value) => Buffer.from(String(value), "base64").toString("utf8"));
