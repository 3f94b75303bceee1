// The text and spinner in place of content that is being loaded.

import { t } from "../texts/text.tsx";

export function Loading({ label = t("state.loading") }: { readonly label?: string }) {
  return (
    <output className="loading">
      <span className="spinner" aria-hidden="true" />
      {label}
    </output>
  );
}
