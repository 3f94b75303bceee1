// Gives a new pod its ServiceAccount, with a token for its API and the secrets to pull images.
// Source: k8s.io/kubernetes/plugin/pkg/admission/serviceaccount/admission.go

import { isJsonArray, isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { type AdmissionPlugin, forbiddenByAdmission } from "@postern/apiserver/registry/admission-plugin";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import type { Container, PodSpec } from "../pods/pod-fields.ts";
import { podPlugin } from "./pod-plugin.ts";

export type ServiceAccountAdmissionDeps = {
  readonly accounts: InstalledResource;
  /** A name with this prefix. */
  readonly volumeName: (prefix: string) => string;
  readonly pause: (ms: number) => Promise<void>;
};

const DEFAULT = "default";
/** The account `default` comes a moment after its namespace. */
const ATTEMPTS = 20;
const BETWEEN_MS = 50;
const VOLUME = "kube-api-access-";
const MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";
const MIRROR_POD = "kubernetes.io/config.mirror";
/** An hour, and some seconds by which a kubelet knows that nothing but the default was asked for. */
const EXPIRATION_SECONDS = 3_607;

type Account = KubeObject & {
  readonly automountServiceAccountToken?: boolean;
  readonly imagePullSecrets?: readonly { readonly name?: string }[];
};

export const createServiceAccountAdmission = ({
  accounts,
  volumeName,
  pause,
}: ServiceAccountAdmissionDeps): AdmissionPlugin => {
  async function accountNamed(name: string, namespace: string, signal: AbortSignal): Promise<Account | undefined> {
    for (let attempt = 1; ; attempt++) {
      // Stored objects have passed the schema of their kind.
      const found = accounts.view.get(accounts.keys.of(namespace, name))?.decode() as Account | undefined;
      if (found !== undefined || name !== DEFAULT || attempt === ATTEMPTS) return found;
      await pause(BETWEEN_MS);
      if (signal.aborted) return undefined;
    }
  }

  return podPlugin("ServiceAccount", async (pod, attributes) => {
    const { namespace, context } = attributes;
    if (pod.metadata.annotations?.[MIRROR_POD] !== undefined) {
      if ((pod.spec?.serviceAccountName ?? "") === "") return pod;
      throw forbiddenByAdmission(attributes, "a mirror pod may not reference service accounts");
    }
    const name = pod.spec?.serviceAccountName || DEFAULT;
    const account = await accountNamed(name, namespace, context.signal);
    if (account === undefined) {
      throw forbiddenByAdmission(
        attributes,
        `error looking up service account ${namespace}/${name}: serviceaccount ${quoteGo(name)} not found`,
      );
    }
    const spec: PodSpec = { ...pod.spec, serviceAccountName: name, serviceAccount: name };
    const mounted =
      (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true)
        ? withToken(spec, volumeName)
        : spec;
    const secrets = (account.imagePullSecrets ?? []).map((secret) => ({ name: secret.name ?? "" }));
    const pulls = (spec.imagePullSecrets ?? []).length === 0 && secrets.length > 0 ? { imagePullSecrets: secrets } : {};
    return { ...pod, spec: { ...mounted, ...pulls } };
  });
};

function withToken(spec: PodSpec, volumeName: (prefix: string) => string): PodSpec {
  const known = (spec.volumes ?? []).find(({ name }) => name.startsWith(VOLUME));
  const volume = known?.name ?? volumeName(VOLUME);
  let isNeeded = false;
  const mount = (container: Container): Container => {
    const mounts = membersOf(container.volumeMounts);
    if (mounts.some((each) => each["mountPath"] === MOUNT_PATH)) return container;
    isNeeded = true;
    // The fields of a mount are those of its schema.
    return {
      ...container,
      volumeMounts: [...mounts, { name: volume, readOnly: true, mountPath: MOUNT_PATH }] as never,
    };
  };
  const containers = (spec.containers ?? []).map(mount);
  const initContainers = spec.initContainers?.map(mount);
  return {
    ...spec,
    ...(spec.containers === undefined ? {} : { containers }),
    ...(initContainers === undefined ? {} : { initContainers }),
    ...(isNeeded && known === undefined ? { volumes: [...(spec.volumes ?? []), tokenVolume(volume)] } : {}),
  };
}

const membersOf = (list: unknown): readonly JsonObject[] =>
  isJsonArray(list as never) ? (list as unknown as readonly JsonObject[]).filter(isJsonObject) : [];

const tokenVolume = (name: string) => ({
  name,
  projected: {
    defaultMode: 0o644,
    sources: [
      { serviceAccountToken: { expirationSeconds: EXPIRATION_SECONDS, path: "token" } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      {
        downwardAPI: {
          items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
        },
      },
    ],
  },
});
