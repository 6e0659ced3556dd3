export { createOpenApi } from "./openapi/documents.ts";
