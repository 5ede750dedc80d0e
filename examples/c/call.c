// A client: starts a server, calls one of its tools, and prints progress and the result.
//
//     call TOOL ARGUMENTS SERVER [ARGUMENT...]     call heat '{"seconds":3}' ./thermostat
#define _POSIX_C_SOURCE 200809L // clock_gettime

#include <mcp_sansio.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static mcp_client client;
static uint8_t rx[65536], tx[512];
static int to_server[2], from_server[2];

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

// Writes what waits to be written. Returns false if the server is gone.
static bool flush(void) {
    size_t len;
    const uint8_t *bytes;
    while (bytes = mcp_client_output(&client, &len), len > 0) {
        ssize_t written = write(to_server[1], bytes, len);
        if (written < 0 && errno != EINTR) return false;
        mcp_client_wrote(&client, written < 0 ? 0 : (size_t)written);
    }
    return true;
}

// Makes a call until it is no longer MCP_FULL.
#define SEND(call) do {} while ((call) == MCP_FULL && flush())

static int ended(void) {
    fprintf(stderr, "the server has ended\n");
    return 1;
}

static int run(const char *tool, const char *arguments) {
    char text[4096];
    mcp_status made = MCP_OK;
    SEND(mcp_client_connect(&client, now()));
    for (;;) {
        mcp_client_event event;
        switch (mcp_client_next(&client, now(), &event)) {
        case MCP_CONNECTED:
            SEND(made = mcp_client_call(&client, now(), tool, arguments, NULL));
            if (made == MCP_OK) break;
            if (made == MCP_FULL) return ended();
            fprintf(stderr, "the arguments are no JSON object\n");
            return 2;
        case MCP_CALL_PROGRESS: {
            double done = 0, total = 0;
            mcp_result_f64(&client, "progress", &done);
            mcp_result_f64(&client, "total", &total);
            fprintf(stderr, "%g of %g\n", done, total);
            break;
        }
        case MCP_RESULT: {
            bool failed = false;
            mcp_result_bool(&client, "isError", &failed);
            if (mcp_result_str(&client, "content/0/text", text, sizeof text) == MCP_OK) puts(text);
            return failed;
        }
        case MCP_CONNECT_FAILED:
        case MCP_CALL_FAILED:
            if (mcp_client_message(&client, text, sizeof text) != MCP_OK) snprintf(text, sizeof text, "no answer");
            fprintf(stderr, "%s (code %d)\n", text, (int)event.code);
            return 1;
        case MCP_IO: {
            size_t len, size;
            mcp_client_output(&client, &len);
            if (len > 0 && !flush()) return ended();
            if (len > 0) break; // there is room now, for which something may have waited
            uint8_t *into = mcp_client_input(&client, &size);
            uint64_t due = mcp_client_due(&client), time = now();
            int wait = due == UINT64_MAX ? -1 : due <= time ? 0 : (int)(due - time);
            struct pollfd in = {.fd = size > 0 ? from_server[0] : -1, .events = POLLIN}; // -1: only waits
            if (poll(&in, 1, wait) <= 0) break;
            ssize_t count = read(from_server[0], into, size);
            if (count > 0) mcp_client_read(&client, (size_t)count);
            else if (count == 0) mcp_client_end_of_input(&client);
            break;
        }
        case MCP_CLOSED:
            return ended();
        }
    }
}

int main(int count, char **arguments) {
    if (count < 4) {
        fprintf(stderr, "usage: call TOOL ARGUMENTS SERVER [ARGUMENT...]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    if (pipe(to_server) || pipe(from_server)) return 1;
    pid_t server = fork();
    if (server < 0) return 1;
    if (server == 0) {
        dup2(to_server[0], STDIN_FILENO);
        dup2(from_server[1], STDOUT_FILENO);
        close(to_server[1]);
        execvp(arguments[3], arguments + 3);
        _exit(127);
    }
    close(to_server[0]);
    close(from_server[1]);
    if (mcp_client_init(&client, "call", "1.0.0", rx, sizeof rx, tx, sizeof tx) != MCP_OK) return 1;
    int status = run(arguments[1], arguments[2]);
    kill(server, SIGTERM);
    return status;
}
