// The address of a webhook: its URL, or the endpoint of its Service.
// Source: k8s.io/apiserver/pkg/util/proxy/proxy.go (ResolveEndpoint, ResolveCluster), pkg/util/webhook/client.go

import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import type { Endpoints } from "../builtin/services/endpoints.ts";
import type { Service } from "../builtin/services/service.ts";
import type { WebhookTarget } from "./client-config.ts";
import { WebhookCallError, type WebhookEndpoint, WebhookStatusError } from "./webhook-caller.ts";

export type ServiceViews = { readonly services: InstalledResource; readonly endpoints: InstalledResource };

/** The endpoint as errors name it: by the Service, not by the address that it resolves to. */
function urlOf({ clientConfig: { url, service }, timeoutSeconds = 10 }: WebhookTarget): string {
  const timeout = `?timeout=${timeoutSeconds}s`;
  if (url !== undefined) return `${url}${timeout}`;
  const { name = "", namespace = "", port = 443, path = "" } = service ?? {};
  return `https://${name}.${namespace}.svc:${port}${pathOf(path)}${timeout}`;
}

/** Like client-go: a status has no prefix, and a connection error names the URL. */
export const callFailure = (target: WebhookTarget, error: WebhookCallError): string =>
  error instanceof WebhookStatusError ? error.message : `Post ${quoteGo(urlOf(target))}: ${error.message}`;

const pathOf = (path: string): string => (path.startsWith("/") ? path : `/${path}`);

/** Throws WebhookCallError where the Service leads nowhere. */
export function resolveEndpoint(webhook: WebhookTarget, views: ServiceViews): WebhookEndpoint {
  const { url, service, caBundle = "" } = webhook.clientConfig;
  const authority = caBundle === "" ? {} : { authorityPem: Buffer.from(caBundle, "base64").toString("utf8") };
  const query = `?timeout=${webhook.timeoutSeconds ?? 10}s`;
  if (url !== undefined) {
    const { origin, pathname } = new URL(url);
    return { origin, path: `${pathname}${query}`, ...authority };
  }
  const { name = "", namespace = "", port = 443, path = "" } = service ?? {};
  return {
    origin: originOf(name, namespace, port, views),
    path: `${pathOf(path)}${query}`,
    serverName: `${name}.${namespace}.svc`,
    ...authority,
  };
}

/** No traffic goes through addresses of Services here: what they lead to is dialled itself. */
function originOf(name: string, namespace: string, port: number, { services, endpoints }: ServiceViews): string {
  // Stored objects have passed the schema of their kind, here and below.
  const service = services.view.get(services.keys.of(namespace, name))?.decode() as Service | undefined;
  if (service === undefined) throw new WebhookCallError(`service ${JSON.stringify(name)} not found`);
  const { type, externalName = "", ports = [] } = service.spec ?? {};
  if (type === "ExternalName") return httpsOrigin(externalName, port);
  const wanted = ports.find((each) => each.port === port);
  if (wanted === undefined)
    throw new WebhookCallError(`no service port ${port} found for service ${JSON.stringify(name)}`);
  const found = endpoints.view.get(endpoints.keys.of(namespace, name))?.decode() as Endpoints | undefined;
  for (const { addresses = [], ports: open = [] } of found?.subsets ?? []) {
    const target = open.find((each) => (each.name ?? "") === (wanted.name ?? ""));
    const [address] = addresses;
    if (target !== undefined && address !== undefined) return httpsOrigin(address.ip, target.port);
  }
  throw new WebhookCallError(
    `no endpoints available for service ${JSON.stringify(name)}: this virtual cluster runs no pods`,
  );
}

const httpsOrigin = (host: string, port: number): string =>
  `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
