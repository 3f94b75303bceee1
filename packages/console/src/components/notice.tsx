// Notices: errors that can be retried, and hints.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import { Link } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense } from "react";
import { t } from "../texts/text.tsx";
import type { Tone } from "./badge.tsx";
import { Button } from "./button.tsx";
import { DocsLink } from "./docs-link.tsx";
import { explanationOf } from "./help-addresses.ts";
import { Loading } from "./loading.tsx";
import { AskLink } from "./refusals/ask-link.tsx";
import { refusedRequest } from "./refusals/refused-request.ts";

/** Not in the first file that a browser loads: most visits meet no refusal. */
const Refusal = lazy(async () => ({ default: (await import("./refusals/refusal.tsx")).Refusal }));

/** An error and a button to retry. */
export function ErrorNotice({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  const message = error instanceof Error ? error.message : String(error);
  // Retrying does not help here.
  const isForbidden = isApiError(error, "Forbidden");
  const explanation = explanationOf(error);
  const refused = isForbidden ? refusedRequest(message) : undefined;
  if (refused !== undefined)
    return (
      <div className="notice bad" role="alert">
        <Suspense fallback={<Loading />}>
          <Refusal refused={refused} message={message} />
        </Suspense>
      </div>
    );
  return (
    <div className="notice bad" role="alert">
      <p>{message}</p>
      <AskLink message={message} />
      {explanation !== undefined && <DocsLink to={explanation}>{t("help.error")}</DocsLink>}
      {isForbidden && <Link to="/access">{t("may.check")}</Link>}
      {!isForbidden && onRetry !== undefined && <Button onPress={onRetry}>{t("action.retry")}</Button>}
    </div>
  );
}

export function Notice({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return <div className={`notice ${tone}`}>{children}</div>;
}
