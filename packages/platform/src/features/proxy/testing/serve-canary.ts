// A target of the proxy that keeps everything that ever reaches it.

import type { IncomingHttpHeaders, RequestListener } from "node:http";
import { readAll } from "@postern/apiserver/transport/testing/test-clients";
import { serveUpstream } from "./serve-upstream.ts";

/** The credential of the target. */
export const TOKEN = "backend-credential";

type Seen = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: string;
};

/** `seen` has every request in the order of their arrival; the paths of the target begin with `basePath`. */
export async function serveCanary(
  answer: RequestListener = (_request, response) => void response.end("{}"),
  basePath = "",
) {
  const seen: Seen[] = [];
  const upstream = await serveUpstream(async (request, response) => {
    const { method = "", url = "", headers, rawHeaders } = request;
    seen.push({ method, url, headers, rawHeaders, body: await readAll(request) });
    answer(request, response);
  });
  const { certificateAuthorityPem } = upstream;
  const target = { server: upstream.url + basePath, certificateAuthorityPem, credential: { bearerToken: TOKEN } };
  return { upstream, target, seen };
}

/** The values of all headers of that name, as they came over the wire. */
export const valuesOf = (raw: readonly string[], name: string): readonly string[] =>
  raw.flatMap((value, at) => (at % 2 === 1 && raw[at - 1]?.toLowerCase() === name ? [value] : []));
