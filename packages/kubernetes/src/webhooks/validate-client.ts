// Faults in the place of a webhook, and in the versions of the reviews that it takes.
// Source: k8s.io/apiserver/pkg/util/webhook/validation.go, k8s.io/kubernetes/pkg/apis/admissionregistration/validation/validation.go

import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { type FieldError, indexPath, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";
import { isDNS1035Label, isDNS1123Subdomain } from "@postern/apimachinery/validation/string-validators";
import type { WebhookClientConfig } from "./client-config.ts";

/** The versions of AdmissionReviews and of ConversionReviews. */
export const REVIEW_VERSIONS: readonly string[] = ["v1", "v1beta1"];
const URL_FORM = "; desired format: https://host[/path]";

/** `path` is that of the configuration, as upstream names it. */
export function validateWebhookClient({ url, service }: WebhookClientConfig, path: string): readonly FieldError[] {
  if ((url === undefined) === (service === undefined))
    return [requiredError(path, "exactly one of url or service is required")];
  if (url !== undefined) return validateUrl(url, `${path}.url`);
  return service === undefined ? [] : validateService(service, `${path}.service`);
}

function validateUrl(text: string, path: string): readonly FieldError[] {
  if (!URL.canParse(text)) return [requiredError(path, `url must be a valid URL: parse ${quoteGo(text)}${URL_FORM}`)];
  const url = new URL(text);
  const scheme = url.protocol.replace(/:$/, "");
  const user = url.password === "" ? url.username : `${url.username}:${url.password}`;
  return [
    ...(scheme === "https" ? [] : [invalidError(path, scheme, `'https' is the only allowed URL scheme${URL_FORM}`)]),
    ...(url.host === "" ? [invalidError(path, "", `host must be specified${URL_FORM}`)] : []),
    ...(user === "" ? [] : [invalidError(path, url.username, "user information is not permitted in the URL")]),
    ...(url.hash === "" ? [] : [invalidError(path, url.hash.slice(1), "fragments are not permitted in the URL")]),
    ...(url.search === ""
      ? []
      : [invalidError(path, url.search.slice(1), "query parameters are not permitted in the URL")]),
  ];
}

function validateService(
  { name, namespace, path: urlPath = "", port = 443 }: NonNullable<WebhookClientConfig["service"]>,
  path: string,
): readonly FieldError[] {
  return [
    ...(name === "" ? [requiredError(`${path}.name`)] : []),
    ...(namespace === "" ? [requiredError(`${path}.namespace`)] : []),
    ...(port < 1 || port > 65_535
      ? [invalidError(`${path}.port`, port, "port is not valid: must be between 1 and 65535, inclusive")]
      : []),
    ...validatePath(urlPath, `${path}.path`),
  ];
}

function validatePath(text: string, path: string): readonly FieldError[] {
  if (text === "" || text === "/") return [];
  if (text === "//") return [invalidError(path, text, "segment[0] may not be empty")];
  const steps = text.slice(1).replace(/\/$/, "").split("/");
  return [
    ...(text.startsWith("/") ? [] : [invalidError(path, text, "must start with a '/'")]),
    ...steps.flatMap((step, index) =>
      step === ""
        ? [invalidError(path, text, `segment[${index}] may not be empty`)]
        : isDNS1123Subdomain(step).map((fault) => invalidError(path, text, `segment[${index}]: ${fault}`)),
    ),
  ];
}

/** `required` is said where there are none. */
export function validateReviewVersions(
  versions: readonly string[],
  path: string,
  required = "",
): readonly FieldError[] {
  if (versions.length === 0) return [requiredError(path, required)];
  return [
    ...versions.flatMap((version, index) => {
      const at = indexPath(path, index);
      if (versions.indexOf(version) < index) return [invalidError(at, version, "duplicate version")];
      return isDNS1035Label(version).map((fault) => invalidError(at, version, fault));
    }),
    ...(versions.some((version) => REVIEW_VERSIONS.includes(version))
      ? []
      : [invalidError(path, [...versions], `must include at least one of ${REVIEW_VERSIONS.join(", ")}`)]),
  ];
}
