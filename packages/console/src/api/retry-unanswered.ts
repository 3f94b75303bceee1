// Asks once more where no answer came, as when a browser changes its network. Answers of the server are final.

import { isApiError } from "@postern/apimachinery/meta/api-error";

const TRIES = 2;

/** For the `retry` of a query. */
export const retryUnanswered = (failures: number, error: Error): boolean => failures < TRIES && !isApiError(error);
