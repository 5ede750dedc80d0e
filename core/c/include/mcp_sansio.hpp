#ifndef MCP_SANSIO_HPP
#define MCP_SANSIO_HPP

// `mcp_sansio.h` for C++17: each function calls the one of the same name there, which has the
// description, and is inlined. Needs no exceptions, no type information and no heap, and of the
// standard library only the headers below.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "mcp_sansio.h"

namespace mcp {

// An outcome, which a compiler warns of if it is ignored: compare it with `MCP_OK` and the others.
struct [[nodiscard]] status {
    constexpr status(mcp_status code) : code(code) {}
    constexpr operator mcp_status() const { return code; }

    mcp_status code;
};

enum class step : int32_t {
    io = MCP_IO, again = MCP_AGAIN, tool = MCP_TOOL, resource = MCP_RESOURCE,
    resource_template = MCP_TEMPLATE, prompt = MCP_PROMPT, complete_prompt = MCP_COMPLETE_PROMPT,
    complete_template = MCP_COMPLETE_TEMPLATE, cancelled = MCP_CANCELLED, timed_out = MCP_TIMED_OUT,
    violation = MCP_VIOLATION, note = MCP_NOTE, closed = MCP_CLOSED, wrong = MCP_WRONG,
};

// Levels of log messages, those of syslog.
enum class level : uint8_t { debug, info, notice, warning, error, critical, alert, emergency };

// What is to be done, and what comes with it: `request` and `index`, not set for `step::wrong`.
struct event : mcp_event {
    mcp::step step;
};

// Bytes to write, or memory to read into.
template <class Byte> struct bytes {
    Byte *data;
    size_t size;
};

// A view of a constant array of rows, which must stay as it is: a temporary one is refused. Write
// out the type, `constexpr std::array<mcp_tool, 3>`: g++ puts one that it deduces into RAM.
template <class Row> struct table {
    constexpr table() = default;
    template <size_t N>
    constexpr table(const std::array<Row, N> &rows) : data(rows.data()), size(N) {}
    template <size_t N> table(const std::array<Row, N> &&) = delete;

    const Row *data = nullptr;
    size_t size = 0;
};

constexpr mcp_config config(const char *name, const char *version, table<mcp_tool> tools = {},
                            const char *instructions = nullptr, const char *title = nullptr) {
    return {name, version, title, instructions, tools.data, tools.size};
}

// Makes an answer until it is no longer `MCP_FULL`. `flush` writes all of the output, and
// returns false if the peer is gone.
template <class Answer, class Flush> status send(Answer answer, Flush flush) {
    for (;;) {
        const status sent = answer();
        if (sent != MCP_FULL || !flush()) return sent;
    }
}

// A server with its memory: `Rx` bytes for the longest line that is received, and `Tx`, at least
// 64, for what is sent. A static variable, usually: its constructor does nothing.
template <size_t Rx, size_t Tx> class server {
    static_assert(Tx >= 64, "an output buffer has 64 bytes or more");

public:
    server() = default;
    server(const server &) = delete;
    server &operator=(const server &) = delete;

    // For functions that C has and this class has not.
    mcp_server *get() { return &c; }

    status init(const mcp_config &config) { return mcp_server_init(&c, &config, rx, Rx, tx, Tx); }
    status init_unchecked(const mcp_config &config) {
        return mcp_server_init_unchecked(&c, &config, rx, Rx, tx, Tx);
    }
    status init(const mcp_config &&) = delete;
    status init_unchecked(const mcp_config &&) = delete;
    status resources(table<mcp_resource> rows, table<mcp_template> templates = {}) {
        return mcp_server_resources(&c, rows.data, rows.size, templates.data, templates.size);
    }
    status prompts(table<mcp_prompt> rows) { return mcp_server_prompts(&c, rows.data, rows.size); }
    status completions() { return mcp_server_completions(&c); }
    status logging() { return mcp_server_logging(&c); }
    status subscriptions() { return mcp_server_subscriptions(&c); }
    status request_timeout(uint32_t seconds) { return mcp_server_request_timeout(&c, seconds); }
    status peer_can_reconnect() { return mcp_server_peer_can_reconnect(&c); }
    template <size_t N> status check(char (&out)[N]) { return mcp_server_check(&c, out, N); }

    event next(uint64_t now) {
        event came;
        came.step = step(mcp_server_next(&c, now, &came));
        return came;
    }
    bytes<const uint8_t> output() {
        size_t size;
        const uint8_t *data = mcp_server_output(&c, &size);
        return {data, size};
    }
    void wrote(size_t count) { mcp_server_wrote(&c, count); }
    bytes<uint8_t> input() {
        size_t size;
        uint8_t *data = mcp_server_input(&c, &size);
        return {data, size};
    }
    void read(size_t count) { mcp_server_read(&c, count); }
    void lost() { mcp_server_lost(&c); }
    void end_of_input() { mcp_server_end_of_input(&c); }
    uint64_t due() { return mcp_server_due(&c); }
    void reset() { mcp_server_reset(&c); }

    // Arguments. The status says why there is none: not there, or of another type.
    status arg(const char *path, bool &to) { return mcp_arg_bool(&c, path, &to); }
    status arg(const char *path, int32_t &to) { return mcp_arg_i32(&c, path, &to); }
    status arg(const char *path, int64_t &to) { return mcp_arg_i64(&c, path, &to); }
    status arg(const char *path, double &to) { return mcp_arg_f64(&c, path, &to); }
    template <size_t N> status arg(const char *path, char (&to)[N]) {
        return mcp_arg_str(&c, path, to, N);
    }

    // The same without the reason: `T` is bool, int32_t, int64_t or double.
    template <class T> std::optional<T> arg(const char *path) {
        T to;
        return arg(path, to) == MCP_OK ? std::optional<T>(to) : std::nullopt;
    }

    // Texts in memory of the caller. Their length is counted, which C leaves to the program.
    template <size_t N> std::optional<std::string_view> arg_str(const char *path, char (&to)[N]) {
        return text(mcp_arg_str(&c, path, to, N), to);
    }
    template <size_t N> std::optional<std::string_view> arg_json(const char *path, char (&to)[N]) {
        return text(mcp_arg_json(&c, path, to, N), to);
    }
    template <size_t N> std::optional<std::string_view> param_str(const char *path, char (&to)[N]) {
        return text(mcp_param_str(&c, path, to, N), to);
    }
    template <size_t N> std::optional<std::string_view> variable(const char *name, char (&to)[N]) {
        return text(mcp_variable(&c, name, to, N), to);
    }

    // Answers to requests. Texts end with a zero byte, as in C.
    status reply_text(uint64_t to, const char *text) { return mcp_reply_text(&c, to, text); }
    status reply_error(uint64_t to, const char *text) { return mcp_reply_error(&c, to, text); }
    status reply_json(uint64_t to, const char *json) { return mcp_reply_json(&c, to, json); }
    status reply_result(uint64_t to, const char *json) { return mcp_reply_result(&c, to, json); }
    status reply_prompt(uint64_t to, const char *text) { return mcp_reply_prompt(&c, to, text); }
    status reply_contents(uint64_t to, const char *uri, const char *type, const char *text) {
        return mcp_reply_contents(&c, to, uri, type, text);
    }
    status reply_blob(uint64_t to, const char *uri, const char *type, bytes<const uint8_t> blob) {
        return mcp_reply_blob(&c, to, uri, type, blob.data, blob.size);
    }
    status reply_values(uint64_t to, table<const char *> values) {
        return mcp_reply_values(&c, to, values.data, values.size);
    }
    status fail(uint64_t to, int32_t code, const char *message) {
        return mcp_fail(&c, to, code, message);
    }
    status abandon(uint64_t to) { return mcp_abandon(&c, to); }
    bool is_open(uint64_t to) { return mcp_is_open(&c, to); }

    // Messages that may be dropped, and their outcomes ignored.
    mcp_status progress(uint64_t to, uint32_t done, uint32_t total = 0,
                        const char *message = nullptr) {
        return mcp_progress(&c, to, done, total, message);
    }
    mcp_status log(uint64_t to, level level, const char *text, const char *logger = nullptr) {
        return mcp_log(&c, to, uint8_t(level), logger, text);
    }
    status changed(mcp_change &change) { return mcp_changed(&c, &change); }

private:
    static std::optional<std::string_view> text(mcp_status read, const char *to) {
        return read == MCP_OK ? std::optional<std::string_view>(to) : std::nullopt;
    }

    mcp_server c;
    uint8_t rx[Rx];
    uint8_t tx[Tx];
};

} // namespace mcp

#endif // MCP_SANSIO_HPP
