// The forms that pages of sign-in send, and the comparison of secrets in them.

import { timingSafeEqual } from "node:crypto";
import { badRequestError } from "@postern/apimachinery/meta/api-error";
import { type ApiRequest, headerOf } from "@postern/apiserver/transport/api-request";

const MAX_FORM_BYTES = 24 * 1024;
const MAX_FIELDS = 20;

/** Throws ApiError 400 for other bodies, and for duplicate parameters. */
export async function askedByForm(request: ApiRequest): Promise<URLSearchParams> {
  const [type = ""] = headerOf(request, "content-type").split(";");
  if (type.trim().toLowerCase() !== "application/x-www-form-urlencoded")
    throw badRequestError("the body must be application/x-www-form-urlencoded");
  const form = new URLSearchParams(Buffer.from(await request.body(MAX_FORM_BYTES)).toString("utf8"));
  if (form.size > MAX_FIELDS || new Set(form.keys()).size !== form.size)
    throw badRequestError("a parameter is given more than once, or there are too many");
  return form;
}

export const isSameText = (one: string, other: string): boolean => {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && first.length > 0 && timingSafeEqual(first, second);
};
