// Authenticates requests that the kube-apiserver of another cluster forwards for its users: its client certificate proves that its headers are true.
// Source: k8s.io/apiserver/pkg/authentication/request/headerrequest/requestheader.go (NewDynamicVerifyOptionsSecure)

import type { PlatformNames } from "@postern/api/platform-names";
import { ApiError, forbiddenPathError, isApiError } from "@postern/apimachinery/meta/api-error";
import {
  type Authentication,
  type Authenticator,
  CredentialRefusedError,
} from "@postern/apiserver/authentication/authenticator";
import { createClientCertificateAuthenticator } from "@postern/apiserver/authentication/client-certificate-authenticator";
import { bearerTokenOf } from "@postern/apiserver/request/credentials";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { Configuration } from "../../foundation/config/configuration.ts";
import { frontProxyCredentialId } from "../../foundation/http/front-proxy-credential.ts";
import { userSourceText } from "../access-keys/key-sources.ts";
import { isFromRanges } from "../access-keys/source-ranges.ts";
import { LOCKED_USER } from "../access-keys/validity/refusal-of-owner.ts";
import type { Directory, DirectoryUser } from "../directory/directory.ts";
import { cameThroughProxy } from "../proxy/forwarded-headers.ts";
import { frontProxyIdentity, remoteUserOf } from "./front-proxy-identity.ts";

export type FrontProxyAuthenticatorDeps = {
  readonly settings: Configuration["frontProxy"];
  readonly names: PlatformNames;
  readonly directory: Directory;
  readonly clock: Clock;
};

export type FrontProxyAuthenticator = Authenticator & {
  /** Trusts these CA certificates, in PEM, and no others. Throws for a text without one. */
  trust(authorities: string): void;
};

/** Trusts nothing until `trust` is called. */
export function createFrontProxyAuthenticator(deps: FrontProxyAuthenticatorDeps): FrontProxyAuthenticator {
  const { settings, names, directory, clock } = deps;
  let certificates: Authenticator | undefined;
  const trusted = new Set<() => void>();

  /** The common name; undefined for a certificate of another CA. Throws ApiError 401 for one that is not, or no longer, accepted. */
  const proxyOf = async (request: ApiRequest): Promise<string | undefined> => {
    const found = await certificates?.authenticate(request);
    if (found === undefined) return undefined;
    if (settings.allowedNames.includes(found.user.name)) return found.user.name;
    throw refused(`the common name ${JSON.stringify(found.user.name)} is not one of --requestheader-allowed-names`);
  };

  const authenticated = (request: ApiRequest, proxy: string): Authentication | undefined => {
    const remote = remoteUserOf(request.headers, settings);
    if (remote === undefined) return undefined;
    // An access key on its way there may have limits, of which the other cluster knows nothing.
    if (cameThroughProxy(request))
      throw forbiddenPathError("requests through the proxy do not lead back to the management API: send them to it");
    const { user, known } = frontProxyIdentity(remote, { prefix: settings.prefix, directory, names });
    const id = frontProxyCredentialId(user.name);
    const annotations = { "front-proxy/name": proxy, "front-proxy/user": remote.name };
    if (known?.locked === true) throw refused(LOCKED_USER, id);
    // The address is that of the proxy: where the user is, it does not prove.
    if (!isFromRanges(known?.sourceRanges ?? [], request.remoteAddress))
      throw refused(userSourceText(request.remoteAddress), id);
    const teams = known && teamsOf(known);
    const onRevoked = (listener: () => void): Disposable => {
      const check = (): void => {
        if (known === undefined) return;
        if (directory.user(known.name) !== known || teamsOf(known) !== teams) listener();
      };
      const checkTrust = (): void => {
        proxyOf(request).then(
          (name) => name === undefined && listener(),
          () => listener(),
        );
      };
      const following = directory.onChange(check);
      trusted.add(checkTrust);
      return {
        [Symbol.dispose]() {
          following[Symbol.dispose]();
          trusted.delete(checkTrust);
        },
      };
    };
    return { user, credential: { id, annotations, onRevoked } };
  };

  const teamsOf = ({ name }: DirectoryUser): string => JSON.stringify(directory.teamsOf(name).map((team) => team.name));

  const namesUser = ({ headers }: ApiRequest): boolean =>
    settings.usernameHeaders.some((header) => headers[header.toLowerCase()] !== undefined);

  return {
    trust(authorities) {
      certificates = createClientCertificateAuthenticator({ authorities, clock, unknown: "pass" });
      for (const check of [...trusted]) check();
    },
    authenticate(request) {
      if (certificates === undefined || request.peerCertificate() === undefined || !namesUser(request))
        return undefined;
      return proxyOf(request).then(
        (proxy) => (proxy === undefined ? undefined : authenticated(request, proxy)),
        (error) => {
          // The certificate of a key that is bound to one.
          if (isApiError(error, "Unauthorized") && bearerTokenOf(request).type === "token") return undefined;
          throw error;
        },
      );
    },
  };
}

const refused = (why: string, id?: string): ApiError =>
  new ApiError({
    code: 401,
    reason: "Unauthorized",
    message: "Unauthorized",
    cause: new CredentialRefusedError(why, id),
  });
