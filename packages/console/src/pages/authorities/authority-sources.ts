// Where the console reads the CA of the platform and that of a virtual cluster, and where it takes steps of their rotation.

import type { CertificateAuthorityView } from "@postern/api/certificate-authority";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { createResourceClient } from "@postern/client/resource-client";
import { useApi } from "../../api/api-context.tsx";
import { inNamespace, nameOf, VIRTUAL_CLUSTERS } from "../../api/resources.ts";
import { useMay } from "../../api/use-may.ts";
import type { AuthoritySource, AuthorityStatus } from "./authority-section.tsx";

const PLATFORM_PATH = "/certificateauthority";
const SUBRESOURCE = "certificateauthority";

export function usePlatformAuthority(): AuthoritySource {
  const { client } = useApi();
  return {
    id: ["platform"],
    isPlatform: true,
    right: useMay({ verb: "get", path: PLATFORM_PATH }),
    mayRotate: useMay({ verb: "post", path: PLATFORM_PATH }),
    read: async (signal) =>
      (await client.request({ method: "GET", path: PLATFORM_PATH, signal })) as unknown as AuthorityStatus,
    take: (action) => client.request({ method: "POST", path: PLATFORM_PATH, body: { action } }),
  };
}

/** The CA of a virtual cluster that runs in the server. */
export function useClusterAuthority(cluster: VirtualClusterInstance): AuthoritySource {
  const { client } = useApi();
  const name = nameOf(cluster);
  const { namespace = "" } = cluster.metadata;
  const wish = { resource: "virtualclusterinstances", subresource: SUBRESOURCE, namespace, name };
  const instances = createResourceClient(client, inNamespace(VIRTUAL_CLUSTERS, namespace));
  return {
    id: ["virtualcluster", namespace, name],
    isPlatform: false,
    right: useMay({ verb: "get", ...wish }),
    mayRotate: useMay({ verb: "create", ...wish }),
    async read(signal) {
      const { status = {} } = (await instances.getSubresource(name, SUBRESOURCE, {
        signal,
      })) as CertificateAuthorityView;
      return status;
    },
    take: (action) =>
      instances.createSubresource(name, SUBRESOURCE, {
        kind: "CertificateAuthority",
        spec: { action },
      }),
  };
}
