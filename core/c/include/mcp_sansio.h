#ifndef MCP_SANSIO_H
#define MCP_SANSIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The Model Context Protocol in C, for servers and clients: revisions 2024-11-05 to 2026-07-28.
// Written by cbindgen. The manual is docs/c.md.
// All texts are UTF-8 with a zero byte behind them. No function allocates, waits or calls back.

#if UINTPTR_MAX == UINT32_MAX
#define MCP_32_BITS
#else
#define MCP_64_BITS
#endif

// Hint: the tool changes nothing.
#define MCP_READ_ONLY 1

// Hint: the tool only adds, and destroys nothing.
#define MCP_NOT_DESTRUCTIVE 2

// Hint: a second call with the same arguments changes nothing more.
#define MCP_IDEMPOTENT 4

// Hint: the tool deals with nothing outside of the device.
#define MCP_CLOSED_WORLD 8

#if defined(MCP_32_BITS)
// Size of a server in units of 8 bytes, beside its two buffers.
#define MCP_SERVER_WORDS 192
#endif

#if defined(MCP_64_BITS)
// Size of a server in units of 8 bytes, beside its two buffers.
#define MCP_SERVER_WORDS 512
#endif

#if defined(MCP_32_BITS)
// Size of a client in units of 8 bytes, beside its two buffers.
#define MCP_CLIENT_WORDS 168
#endif

#if defined(MCP_64_BITS)
// Size of a client in units of 8 bytes, beside its two buffers.
#define MCP_CLIENT_WORDS 512
#endif

// Log level: details.
#define MCP_DEBUG 0

// Log level: normal operation.
#define MCP_INFO 1

// Log level: a warning.
#define MCP_WARNING 3

// Log level: an error.
#define MCP_ERROR 4

// Change: of the list of tools.
#define MCP_TOOLS_CHANGED 0

// Change: of the list of resources or templates.
#define MCP_RESOURCES_CHANGED 1

// Change: of the list of prompts.
#define MCP_PROMPTS_CHANGED 2

// Change: of the resource `uri`.
#define MCP_RESOURCE_CHANGED 3

// The outcome of a function.
enum mcp_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Done.
  MCP_OK = 0,
  // The output has no room, or has room for a part. Write all of it, then make the same call
  // again, before `mcp_server_next`.
  MCP_FULL = 1,
  // Not sent, since the client does not want it; or there is no such argument.
  MCP_NONE = 2,
  // The request has been answered, was cancelled, or has timed out.
  MCP_GONE = 3,
  // The library is in the middle of a longer message of its own, or an answer to another request
  // has begun: go on with that one, or with `mcp_server_next`, and make the call again later.
  // Not in the event of the request itself.
  MCP_BUSY = 4,
  // A text is NULL, not UTF-8 or not JSON; an argument is of another type or out of range; a
  // table is wrong.
  MCP_INVALID = -1,
  // It does not fit: the output buffer, or the memory for an argument.
  MCP_TOO_LARGE = -2,
  // The server cannot do this now, or has not declared it.
  MCP_NOT_ALLOWED = -3,
  // The pointer is not that of a server or a client after its `init`.
  MCP_NO_SERVER = -4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcp_status mcp_status;
#else
typedef int32_t mcp_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The next operation.
enum mcp_step
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Nothing, until bytes are written or read, or until the time of `mcp_server_due`.
  MCP_IO = 0,
  // Something was done without the program: call `mcp_server_next` again.
  MCP_AGAIN = 1,
  // A tool is called: the one at `index` of the table. Its arguments have been checked against
  // its schema. Answer the request, now or later; so with all down to `MCP_COMPLETE_TEMPLATE`.
  MCP_TOOL = 2,
  // The resource at `index` is read.
  MCP_RESOURCE = 3,
  // A resource is read whose URI matches the template at `index`.
  MCP_TEMPLATE = 4,
  // The prompt at `index` is asked for.
  MCP_PROMPT = 5,
  // Values are asked for, of an argument of the prompt at `index`.
  MCP_COMPLETE_PROMPT = 6,
  // Values are asked for, of a variable of the template at `index`.
  MCP_COMPLETE_TEMPLATE = 7,
  // The client has cancelled the request: stop working on it. No answer is needed.
  MCP_CANCELLED = 8,
  // The request was open for too long, and has been answered with an error.
  MCP_TIMED_OUT = 9,
  // The client has sent something that breaks the protocol, or noise; it has been answered
  // where the protocol allows that.
  MCP_VIOLATION = 10,
  // Something else, which needs nothing: a client has connected or subscribed, for example.
  MCP_NOTE = 11,
  // The input has ended, all requests are answered, and all bytes are written.
  MCP_CLOSED = 12,
  // Clients: the server has answered, and calls can be made.
  MCP_CONNECTED = 13,
  // Clients: the server cannot be used. `mcp_client_connect` tries again.
  MCP_CONNECT_FAILED = 14,
  // Clients: a call has a result, which `mcp_result_...` read.
  MCP_RESULT = 15,
  // Clients: a call has failed. `code` says why.
  MCP_CALL_FAILED = 16,
  // Clients: the server reports progress of a call: `mcp_result_...` read `progress`, `total`
  // and `message`.
  MCP_CALL_PROGRESS = 17,
  // The pointer is not that of a server or a client.
  MCP_WRONG = -1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcp_step mcp_step;
#else
typedef int32_t mcp_step;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The memory of a server: a `static` variable, usually. It must stay where it is after
// `mcp_server_init`. One value serves one connection.
typedef struct mcp_server {
  uint64_t opaque[MCP_SERVER_WORDS];
} mcp_server;

// A tool.
typedef struct mcp_tool {
  // Name: 1 to 128 characters of `A-Z a-z 0-9 _ - .`
  const char *name;
  // Name for people, or NULL.
  const char *title;
  // What it does, for the model, or NULL.
  const char *description;
  // JSON Schema of the arguments, an object; NULL if there are none.
  const char *input_schema;
  // JSON Schema of the structured result, or NULL.
  const char *output_schema;
  // `MCP_READ_ONLY` and others, or 0.
  uint32_t hints;
} mcp_tool;

// Name and version of a server, and its tools. Constant; the texts are UTF-8.
typedef struct mcp_config {
  // Name for programs.
  const char *name;
  // Version of the program.
  const char *version;
  // Name for people, or NULL.
  const char *title;
  // Instructions for the model that uses the server, or NULL.
  const char *instructions;
  // The tools, or NULL.
  const struct mcp_tool *tools;
  // Number of tools.
  size_t tool_count;
} mcp_config;

// A resource.
typedef struct mcp_resource {
  // URI.
  const char *uri;
  // Name for programs.
  const char *name;
  // Name for people, or NULL.
  const char *title;
  // What it contains, for the model, or NULL.
  const char *description;
  // MIME type, or NULL.
  const char *mime_type;
} mcp_resource;

// A template of the URIs of resources, such as `board://pins/{number}`.
typedef struct mcp_template {
  // The template, with `{name}` for one segment and `{+name}` for any text.
  const char *uri_template;
  // Name for programs.
  const char *name;
  // Name for people, or NULL.
  const char *title;
  // What the resources contain, for the model, or NULL.
  const char *description;
  // MIME type, if all have the same, or NULL.
  const char *mime_type;
} mcp_template;

// A prompt.
typedef struct mcp_prompt {
  // Name.
  const char *name;
  // Name for people, or NULL.
  const char *title;
  // What it is for, or NULL.
  const char *description;
  // JSON array of the arguments: objects with the members `name`, and maybe `description` and
  // `required`; NULL if there are none.
  const char *arguments;
} mcp_prompt;

// The event of a step.
typedef struct mcp_event {
  // The request to answer, or that needs no answer any more; otherwise 0.
  uint64_t request;
  // The place of the tool, resource, template or prompt in its table.
  size_t index;
} mcp_event;

// A change that clients who have subscribed to it are told of.
typedef struct mcp_change {
  // The URI of the resource, for `MCP_RESOURCE_CHANGED`.
  const char *uri;
  // `MCP_TOOLS_CHANGED` and others.
  uint8_t kind;
  // Whom `mcp_changed` tells next. 0 at first, and again after `MCP_OK`.
  uint16_t position;
} mcp_change;

// The memory of a client: a `static` variable, usually. It must stay where it is after
// `mcp_client_init`. One value serves one connection.
typedef struct mcp_client {
  uint64_t opaque[MCP_CLIENT_WORDS];
} mcp_client;

// The event of a step of a client.
typedef struct mcp_client_event {
  // The call that the event is about, or 0.
  uint64_t call;
  // Of `MCP_CALL_FAILED` and `MCP_CONNECT_FAILED`: the code of the server's error, or 0 if there
  // was no valid answer in time.
  int32_t code;
} mcp_client_event;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes a server of `config`, which stays as it is, and two buffers: `rx` for what is received,
// which holds the longest line, and `tx` for what is sent, at least 64 bytes. Longer messages are
// sent in parts.
//
// Returns `MCP_INVALID` if a text is missing or not UTF-8, or a schema is not JSON.
// `mcp_server_check` finds other mistakes.
mcp_status mcp_server_init(struct mcp_server *server,
                           const struct mcp_config *config,
                           uint8_t *rx,
                           size_t rx_size,
                           uint8_t *tx,
                           size_t tx_size);

// The same, but the arguments of calls are not checked against the schemas of the tools, which
// then check all of them themselves. Saves flash: the code of the check is not linked.
mcp_status mcp_server_init_unchecked(struct mcp_server *server,
                                     const struct mcp_config *config,
                                     uint8_t *rx,
                                     size_t rx_size,
                                     uint8_t *tx,
                                     size_t tx_size);

// Adds resources and templates, tables that stay as they are. Before the first `mcp_server_next`,
// as all functions that add something.
mcp_status mcp_server_resources(struct mcp_server *server,
                                const struct mcp_resource *resources,
                                size_t resource_count,
                                const struct mcp_template *templates,
                                size_t template_count);

// Adds prompts, a table that stays as it is.
mcp_status mcp_server_prompts(struct mcp_server *server,
                              const struct mcp_prompt *prompts,
                              size_t count);

// Lets clients ask for values of the arguments of prompts, and of the variables of templates.
mcp_status mcp_server_completions(struct mcp_server *server);

// Lets the server send log messages (`mcp_log`).
mcp_status mcp_server_logging(struct mcp_server *server);

// Lets clients subscribe to changes of the lists and of resources (`mcp_changed`). After the
// tables.
mcp_status mcp_server_subscriptions(struct mcp_server *server);

// Sets the time in seconds after which an open request is answered with an error. Without this
// call there is none.
mcp_status mcp_server_request_timeout(struct mcp_server *server, uint32_t seconds);

// For a serial line, on which the peer can begin again without an end of the input: a second
// `initialize`, and an id that is in use, end the requests of the peer before.
mcp_status mcp_server_peer_can_reconnect(struct mcp_server *server);

// Returns what is to be done next, and what comes with it. `now` is a number of milliseconds since
// any zero, of a clock that never goes back. `event` may be NULL.
mcp_step mcp_server_next(struct mcp_server *server, uint64_t now, struct mcp_event *event);

// Returns the bytes to write, and their number in `len`. Report with `mcp_server_wrote` how many
// were written.
const uint8_t *mcp_server_output(struct mcp_server *server, size_t *len);

// Records that the first `count` bytes of `mcp_server_output` were written.
void mcp_server_wrote(struct mcp_server *server, size_t count);

// Returns memory to read into, and its size in `size`, which is 0 while a message waits for room
// in the output, while an event has just come, and after the end of the input. Report with
// `mcp_server_read` how many bytes were read. Do not read if the size is 0: a read of no bytes
// looks like the end of the input.
uint8_t *mcp_server_input(struct mcp_server *server, size_t *size);

// Records that `count` bytes were read into the memory of `mcp_server_input`.
void mcp_server_read(struct mcp_server *server, size_t count);

// Records that bytes were lost, by an overrun of a serial port for example: the line that they
// belong to is refused. The bytes that `mcp_server_read` reports next came after them.
void mcp_server_lost(struct mcp_server *server);

// Records that nothing more can be read. `mcp_server_next` goes on until `MCP_CLOSED`.
void mcp_server_end_of_input(struct mcp_server *server);

// Returns the time by which `mcp_server_next` must be called again: 0 if something has waited for
// the room of bytes that are written now, and the largest number if there is none, or if one that
// has come waits for room.
uint64_t mcp_server_due(struct mcp_server *server);

// Forgets the client, its requests, and all bytes that were not handled or not written: for the
// next client.
void mcp_server_reset(struct mcp_server *server);

// Reads an argument that is `true` or `false`. All functions `mcp_arg_...` are for the latest
// event, a call or a prompt, and before the next `mcp_server_next`. `path` is the name of an
// argument; in a deeper one slashes separate names, and numbers of elements from 0: `pins/0/mode`.
//
// `MCP_NONE`: there is no such argument; `value` stays as it is. `MCP_INVALID`: it is of another
// type. `MCP_GONE`: the latest event is no request.
mcp_status mcp_arg_bool(struct mcp_server *server, const char *path, bool *value);

// Reads an argument that is a whole number. `MCP_INVALID` also if it has more than 32 bits.
mcp_status mcp_arg_i32(struct mcp_server *server, const char *path, int32_t *value);

// Reads an argument that is a whole number. `MCP_INVALID` also if it has more than 64 bits.
mcp_status mcp_arg_i64(struct mcp_server *server, const char *path, int64_t *value);

// Reads an argument that is a number.
mcp_status mcp_arg_f64(struct mcp_server *server, const char *path, double *value);

// Reads an argument that is a string: its text as UTF-8, with a zero byte behind it.
// `MCP_TOO_LARGE` if it has no room in `size` bytes. A text with a zero byte in it is
// `MCP_INVALID`.
mcp_status mcp_arg_str(struct mcp_server *server, const char *path, char *out, size_t size);

// Reads an argument of any type as JSON text, with a zero byte behind it.
mcp_status mcp_arg_json(struct mcp_server *server, const char *path, char *out, size_t size);

// Reads a string of the parameters of the request, of which the arguments are a part: `uri` of a
// resource that is read; `argument/name` and `argument/value` of a completion.
mcp_status mcp_param_str(struct mcp_server *server, const char *path, char *out, size_t size);

// Reads a variable of the template that the URI of the latest event matches (`MCP_TEMPLATE`).
mcp_status mcp_variable(struct mcp_server *server, const char *name, char *out, size_t size);

// Answers a call with text, of any length. On `MCP_FULL` write the output and call again with the
// same text: what has been written is not written again. So with all functions `mcp_reply_...`.
mcp_status mcp_reply_text(struct mcp_server *server, uint64_t request, const char *text);

// Answers a call with an error of the tool, in words by which a model can correct itself.
mcp_status mcp_reply_error(struct mcp_server *server, uint64_t request, const char *text);

// Answers a call with a structured result, JSON text that conforms to the output schema of the
// tool. It is sent as text, too, for older clients.
mcp_status mcp_reply_json(struct mcp_server *server, uint64_t request, const char *json);

// Answers any request with all of its result, a JSON object of the schema of MCP.
mcp_status mcp_reply_result(struct mcp_server *server, uint64_t request, const char *json);

// Answers any request with an error of JSON-RPC: -32603 for an internal one, or a number of the
// program's own outside of -32768 to -32000.
mcp_status mcp_fail(struct mcp_server *server, uint64_t request, int32_t code, const char *message);

// Gives up an answer that has begun, after `MCP_FULL`, or answers with an error -32603.
mcp_status mcp_abandon(struct mcp_server *server, uint64_t request);

// Answers `resources/read` with text. `uri` may be NULL before the next `mcp_server_next`: then it
// is that of the request. `mime_type` may be NULL.
mcp_status mcp_reply_contents(struct mcp_server *server,
                              uint64_t request,
                              const char *uri,
                              const char *mime_type,
                              const char *text);

// Answers `resources/read` with bytes, which are sent as base64. For the rest as
// `mcp_reply_contents`.
mcp_status mcp_reply_blob(struct mcp_server *server,
                          uint64_t request,
                          const char *uri,
                          const char *mime_type,
                          const uint8_t *bytes,
                          size_t len);

// Answers `prompts/get` with one message of the user.
mcp_status mcp_reply_prompt(struct mcp_server *server, uint64_t request, const char *text);

// Answers a completion with values, at most 16 of those that are handed over.
mcp_status mcp_reply_values(struct mcp_server *server,
                            uint64_t request,
                            const char *const *values,
                            size_t count);

// Reports progress of a request, if the client has asked for it (otherwise `MCP_NONE`). `total` of
// 0 is unknown; `message` may be NULL. `done` must grow. On `MCP_FULL` it may be dropped.
mcp_status mcp_progress(struct mcp_server *server,
                        uint64_t request,
                        uint32_t done,
                        uint32_t total,
                        const char *message);

// Sends a log message that belongs to a request, if the client wants messages of this level
// (otherwise `MCP_NONE`). Levels are those of syslog, 0 for debug to 7 for emergency. `logger` may
// be NULL. On `MCP_FULL` it may be dropped.
mcp_status mcp_log(struct mcp_server *server,
                   uint64_t request,
                   uint8_t level,
                   const char *logger,
                   const char *text);

// Tells clients of a change. On `MCP_FULL` write the output and call again with the same change.
mcp_status mcp_changed(struct mcp_server *server, struct mcp_change *change);

// Returns whether the request waits for an answer.
bool mcp_is_open(struct mcp_server *server, uint64_t request);

// Checks all tables: names, URIs, templates, schemas, and that nothing is there twice. On
// `MCP_INVALID` the first mistake is in `out`, in words of at most `size` bytes with the zero byte
// behind them. Call it after the tables are set, in a test on a computer: firmware that does not
// call it does not link it.
mcp_status mcp_server_check(struct mcp_server *server, char *out, size_t size);

// Makes a client with this name and version, which stay as they are, and two buffers: `rx` for
// what is received, which holds the longest line, and `tx` for what is sent, at least 64 bytes.
mcp_status mcp_client_init(struct mcp_client *client,
                           const char *name,
                           const char *version,
                           uint8_t *rx,
                           size_t rx_size,
                           uint8_t *tx,
                           size_t tx_size);

// Connects, in the era that the server speaks: `MCP_CONNECTED` or `MCP_CONNECT_FAILED` comes
// later. What was open before is forgotten, and a call that is partly written is cut off.
mcp_status mcp_client_connect(struct mcp_client *client, uint64_t now);

// Calls a tool with arguments, a JSON object, or NULL for none, and asks for its progress. `call`
// gets the number by which events name it; without an answer for 60 seconds from `now` it fails.
// On `MCP_FULL` write the output and make the same call again.
mcp_status mcp_client_call(struct mcp_client *client,
                           uint64_t now,
                           const char *tool,
                           const char *arguments,
                           uint64_t *call);

// Makes a request with any method of MCP, such as `tools/list`, and its parameters, a JSON object,
// or NULL for none. For the rest as `mcp_client_call`.
mcp_status mcp_client_request(struct mcp_client *client,
                              uint64_t now,
                              const char *method,
                              const char *params,
                              uint64_t *call);

// Cancels a call. No event follows.
mcp_status mcp_client_cancel(struct mcp_client *client, uint64_t call);

// Returns what is to be done next, as `mcp_server_next`: `MCP_IO`, `MCP_AGAIN`, `MCP_CLOSED`,
// `MCP_VIOLATION`, `MCP_NOTE`, or one of the steps for clients.
mcp_step mcp_client_next(struct mcp_client *client, uint64_t now, struct mcp_client_event *event);

// Reads `true` or `false` at a path of the result of the latest event, before the next
// `mcp_client_next`. Paths and statuses are those of `mcp_arg_bool`; so with all functions
// `mcp_result_...`. `isError` says whether a tool failed.
mcp_status mcp_result_bool(struct mcp_client *client, const char *path, bool *to);

// Reads a whole number of at most 32 bits.
mcp_status mcp_result_i32(struct mcp_client *client, const char *path, int32_t *to);

// Reads a number.
mcp_status mcp_result_f64(struct mcp_client *client, const char *path, double *to);

// Reads a string, as `mcp_arg_str`: `content/0/text` is the first text of a tool's result.
mcp_status mcp_result_str(struct mcp_client *client, const char *path, char *out, size_t size);

// Reads any value as JSON text.
mcp_status mcp_result_json(struct mcp_client *client, const char *path, char *out, size_t size);

// Reads the server's words of `MCP_CALL_FAILED` or `MCP_CONNECT_FAILED`; `MCP_NONE` if it has sent
// none.
mcp_status mcp_client_message(struct mcp_client *client, char *out, size_t size);

// Returns the bytes to write, as `mcp_server_output`.
const uint8_t *mcp_client_output(struct mcp_client *client, size_t *len);

// Records that the first `count` bytes of `mcp_client_output` were written.
void mcp_client_wrote(struct mcp_client *client, size_t count);

// Returns memory to read into, as `mcp_server_input`.
uint8_t *mcp_client_input(struct mcp_client *client, size_t *size);

// Records that `count` bytes were read into the memory of `mcp_client_input`.
void mcp_client_read(struct mcp_client *client, size_t count);

// Records that bytes were lost, as `mcp_server_lost`.
void mcp_client_lost(struct mcp_client *client);

// Records that nothing more can be read: open calls fail, then comes `MCP_CLOSED`.
void mcp_client_end_of_input(struct mcp_client *client);

// Returns the time by which `mcp_client_next` must be called again, as `mcp_server_due`.
uint64_t mcp_client_due(struct mcp_client *client);

// Forgets the server, its calls, and all bytes that were not handled or not written.
void mcp_client_reset(struct mcp_client *client);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MCP_SANSIO_H */
